/** Sentences of audit log entries, such as "set the ring to ● red". */

import { entryOf, isRecord } from "../../../../device/protocol/schema.js";
import type { ListedChange } from "../../../api/audit.js";
import { chimeWords, effectWords, presetWords } from "../../../api/client/command-words.js";
import { plural } from "../../../api/client/words.js";
import { type Action, commandEntries, type SliderName } from "../../../api/commands.js";
import { type Label, labelFields } from "../../../api/label.js";
import type { AuditedRoute } from "../../../api/routes.js";
import { roleNames } from "./roles.js";
import { settingLabels } from "./setting-labels.js";

/**
 * Templates of commands without a slider, other monitor messages and routes, with fields of the change in braces; `before` is the previous value. A part
 * in brackets requires its field.
 */
const texts: Readonly<Record<Exclude<Action, SliderName> | AuditedRoute, string>> = {
	set_mute: "turned mute {value}",
	set_auto_brightness: "turned adapting to room light {value}",
	set_light: "set the ring to {value}",
	set_led: "set the ring to {value}",
	play_audio: "played the chime {value}",
	stop_sound: "stopped the sound",
	identify: "flashed the light",
	restart: "requested a restart",
	query_state: "requested a report",
	boot_device: "requested a reconnection",
	play_sound: "played a sound",
	start_sound: "started a sound",
	set_quiet: "sent quiet hours",
	trigger_ota: "started an update[ to {version}]",
	start_ota: "started an update",
	cancel_ota: "canceled the update",
	set_settings: "changed settings[: {value}]",
	query_crash: "requested a crash report",
	clear_crash: "acknowledged a crash",
	set_log: "set the live log[ to {level}]",
	"GET /api/backup": "downloaded a backup",
	"POST /api/issues/seen": "dismissed issues",
	"DELETE /api/devices": "forgot devices[ offline for {awayDays} days]",
	"PATCH /api/devices/:deviceId": "{label}",
	"DELETE /api/devices/:deviceId": "forgot the device",
	"POST /api/devices/:deviceId/replace": "replaced the device[ by {by}]",
	"DELETE /api/devices/:deviceId/replace": "allowed the replaced device again",
	"POST /api/device-tokens": "created a device token",
	"POST /api/tokens": "invited a person[: {name}][ ({role})]",
	"POST /api/tokens/:name/link": "created a login link for {name}",
	"DELETE /api/tokens/:name": "revoked the access token of {name}",
	"POST /api/sounds": "uploaded a sound[, “{name}”]",
	"DELETE /api/sounds/:id": "deleted a sound[, “{name}”]",
	"POST /api/speech": "previewed the voice",
	"POST /api/announcements": "announced[ “{text}”]",
	"DELETE /api/announcements/:id": "stopped an announcement",
	"POST /api/commands": "sent a command",
	"DELETE /api/commands/:id": "canceled a command",
	"POST /api/schedules": "created a schedule[, “{name}”]",
	"PUT /api/schedules/:id": "changed a schedule[, “{name}”]",
	"DELETE /api/schedules/:id": "deleted a schedule[, “{name}”]",
	"PUT /api/quiet-hours": "set quiet hours[ from {from}][ to {until}]",
	"DELETE /api/quiet-hours/:id": "removed quiet hours",
	"PUT /api/rollouts/:id": "started a rollout[ of {version}]",
	"DELETE /api/rollouts/:id": "removed a rollout",
	"POST /api/rollouts/:id/pause": "paused a rollout",
	"POST /api/rollouts/:id/resume": "resumed a rollout",
	"POST /api/rollouts/:id/approve": "approved the next group of a rollout",
	"POST /api/rollouts/:id/cancel": "canceled a rollout",
	"POST /api/rollouts/:id/retry": "retried the failed devices of a rollout",
	"POST /api/webhooks/:number/test": "tested webhook {number}",
	"POST /ota/upload": "uploaded firmware[ {version}][ for {model}]",
	"POST /login/link": "created a login link",
};

export interface AuditText {
	/** Verb phrase; "●" precedes the name of `color`. */
	readonly text: string;
	/** CSS color. */
	readonly color: string | undefined;
	/** Room, model and tags, all devices, or a number of devices. */
	readonly place: string | undefined;
	readonly deviceIds: readonly string[];
}

/** Describes a change. One of a later version has no description of its own. */
export function auditText(change: Pick<ListedChange, "what" | "deviceId" | "after" | "before">): AuditText {
	const { what, deviceId, after, before = {} } = change;
	const { firmware, value } = after;
	const fields: Fields = {
		...before,
		...after,
		...recordOf(firmware),
		label: labelText(before, after),
		...(before.value !== value && { before: before.value }),
	};
	const { label, scale = 1 } = entryOf(commandEntries, what)?.slider ?? {};
	const unit = scale === 1 ? "" : " %";
	const sliderText = label && `set the ${label.toLowerCase()}[ from {before}${unit}] to {value}${unit}`;
	const textOf = (name: string) => {
		const field = entryOf(fields, name);
		return wordsOf(typeof field === "number" ? Math.round(field * scale) : field);
	};
	const text = (sliderText ?? entryOf(texts, what) ?? "made a change")
		.replaceAll(/\[([^{]*)\{(\w+)\}([^\]]*)\]/g, (_, start: string, name: string, end: string) =>
			entryOf(fields, name) === undefined ? "" : start + textOf(name) + end,
		)
		.replaceAll(/\{(\w+)\}/g, (_, name: string) => textOf(name));
	const { all, room, tags, model, device, devices } = recordOf(after.targets ?? after.target);
	const listed: readonly unknown[] = Array.isArray(devices) ? devices : [];
	// The gateway stores the first ones, and the number of the others.
	const more = Number(/^… (\d+) more$/.exec(`${listed.at(-1)}`)?.[1] ?? 0);
	const parts = [
		all && "all devices",
		more > 0 && plural(listed.length - 1 + more, "device"),
		room,
		model,
		tags,
	];
	const ids = [deviceId, after.deviceId, device, ...(more > 0 ? [] : listed)];
	return {
		text: text.trim(),
		color: isRecord(value) ? hexOf(value.color) : undefined,
		place: parts.filter(Boolean).map(wordsOf).join(", ") || undefined,
		deviceIds: [...new Set(ids.flatMap((id) => (typeof id === "string" ? id : [])))],
	};
}

const known: Readonly<Record<string, string>> = {
	...Object.fromEntries(
		[...presetWords, ...effectWords].map(([value, words]) => [value, words.toLowerCase()]),
	),
	...chimeWords,
	...roleNames,
};

function wordsOf(value: unknown): string {
	if (typeof value === "boolean") return value ? "on" : "off";
	if (!isRecord(value)) return entryOf(known, `${value}`) ?? `${value ?? "…"}`;
	const color = hexOf(value.color);
	if (color === undefined)
		return Object.keys(value)
			.map((name) => entryOf(settingLabels, name) ?? name)
			.join(", ");
	const effect = value.effect === undefined || value.effect === "solid" ? "" : `, ${wordsOf(value.effect)}`;
	return `● ${colorName(color)}${effect}`;
}

/** "renamed Terrace to Patio, moved it to Garden and removed the note" */
function labelText(before: Fields, after: Fields): string {
	const [name, room] = [textIn(before, "name"), textIn(before, "room")];
	const texts: Readonly<Record<keyof Label, readonly [set: string, changed: string, removed: string]>> = {
		name: ["named it ", `renamed ${name} to `, `removed the name ${name}`],
		room: ["put it in ", `moved it from ${room} to `, "removed its room"],
		note: ["noted: ", "changed the note to: ", "removed the note"],
		tags: ["set the tags ", "changed the tags to ", "removed the tags"],
	};
	const changes = labelFields
		.filter((field) => Object.hasOwn(after, field))
		.map((field) => {
			const to = textIn(after, field);
			return `${texts[field][to === "" ? 2 : textIn(before, field) === "" ? 0 : 1]}${to}`;
		});
	return new Intl.ListFormat("en-GB").format(changes) || "changed the label";
}

type Fields = Readonly<Record<string, unknown>>;

function textIn(fields: Fields, field: string): string {
	const value = entryOf(fields, field);
	return Array.isArray(value) ? value.join(" ") : `${value ?? ""}`;
}

/** "#rrggbb" of the color of `set_light`; undefined if it is none. */
function hexOf(color: unknown): string | undefined {
	const hex = Array.isArray(color)
		? `#${color.map((channel) => Number(channel).toString(16).padStart(2, "0")).join("")}`
		: color;
	return typeof hex === "string" && /^#[0-9a-f]{6}$/i.test(hex) ? hex : undefined;
}

const hues = ["red", "orange", "yellow", "green", "green", "turquoise", "blue", "blue", "purple", "pink"];

/** Name of the hue, or of white and black. @param hex "#rrggbb" */
export function colorName(hex: string): string {
	const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
	const most = Math.max(red, green, blue);
	const range = most - Math.min(red, green, blue);
	if (range < most / 5 || most === 0) return most < 32 ? "black" : "white";
	const sixth =
		most === red
			? (green - blue) / range
			: most === green
				? 2 + (blue - red) / range
				: 4 + (red - green) / range;
	return hues[Math.round((((sixth + 6) % 6) / 6) * hues.length) % hues.length] ?? hex;
}

function recordOf(value: unknown): Fields {
	return isRecord(value) ? value : {};
}
