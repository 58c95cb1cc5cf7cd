/** Sentences of audit log entries, by the request or message of the change: "set the ring to ● red". */

import { entryOf, isRecord } from "../../../../device/protocol/schema.js";
import type { ListedChange } from "../../../api/audit.js";
import { chimeWords, effectWords, presetWords } from "../../../api/client/command-words.js";
import { type Action, commandEntries } from "../../../api/commands.js";
import { labelFields } from "../../../api/label.js";
import type { AuditedRoute } from "../../../api/routes.js";
import { percentDecoded } from "../../../api/text.js";
import { roleNames } from "./roles.js";
import { settingLabels } from "./setting-labels.js";

/** Templates of commands and other monitor messages, with fields of the message in braces. A part in brackets requires its field. */
const commandTexts: Readonly<Record<Action, string>> = {
	set_volume: "set the volume to {value}",
	set_mute: "turned mute {value}",
	set_brightness: "set the brightness to {value} %",
	set_auto_brightness: "turned adapting to room light {value}",
	set_light: "set the ring to {value}",
	set_led: "set the ring to {value}",
	set_haptics: "set haptics to {value}",
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
};

/** Templates with fields of the path, the query or the body in braces. A part in brackets requires its field. */
const routeTexts: Readonly<Record<AuditedRoute, string>> = {
	"GET /api/backup": "downloaded a backup",
	"POST /api/attention/seen": "dismissed issues",
	"DELETE /api/devices": "forgot devices[ away for {awayDays} days]",
	"PATCH /api/devices/:deviceId": "{label}",
	"DELETE /api/devices/:deviceId": "forgot the device",
	"POST /api/devices/:deviceId/replace": "replaced the device[ by {by}]",
	"DELETE /api/devices/:deviceId/replace": "allowed the replaced device again",
	"POST /api/device-tokens": "created a device token",
	"POST /api/tokens": "invited a person[: {name}][ ({role})]",
	"POST /api/tokens/:name/link": "created a login link for {name}",
	"DELETE /api/tokens/:name": "revoked the access token of {name}",
	"POST /api/sounds": "uploaded a sound[, “{name}”]",
	"DELETE /api/sounds/:id": "deleted a sound",
	"POST /api/speech": "previewed the voice",
	"POST /api/announcements": "announced[ “{text}”]",
	"DELETE /api/announcements/:id": "stopped an announcement",
	"POST /api/commands": "sent a command",
	"DELETE /api/commands/:id": "canceled a command",
	"POST /api/schedules": "created a schedule[, “{name}”]",
	"PUT /api/schedules/:id": "changed a schedule[, “{name}”]",
	"DELETE /api/schedules/:id": "deleted a schedule",
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

const routes = Object.entries(routeTexts).map(([route, template]) => {
	const pattern = route.replaceAll(/:(\w+)/g, "(?<$1>[^/]+)");
	return { pattern: new RegExp(`^${pattern}$`), template };
});

export interface AuditText {
	/** Verb phrase; "●" precedes the name of `color`. */
	readonly text: string;
	/** CSS color. */
	readonly color: string | undefined;
	/** Room, model and tags, all devices, or many devices. */
	readonly place: string | undefined;
	readonly deviceIds: readonly string[];
}

/** Describes a change. A route or message of a later version has no description of its own. */
export function auditText({
	what,
	detail,
	deviceId,
}: Pick<ListedChange, "what" | "detail" | "deviceId">): AuditText {
	const [request = "", query = ""] = what.split("?");
	const body = recordOf(parsePart(detail ?? "{}"));
	const { payload, firmware, ...others } = body;
	const { command = what, ...values } = recordOf(payload);
	const { all, room, tags, model, device, devices } = recordOf(body.targets ?? body.target);
	const route = routes.find(({ pattern }) => pattern.test(request));
	const inPath = Object.entries(route?.pattern.exec(request)?.groups ?? {});
	const fields = new Map<string, unknown>([
		...Object.entries({ ...others, ...recordOf(firmware), ...values, label: labelText(body) }),
		...new URLSearchParams(query),
		...inPath.map(([name, value]) => [name, percentDecoded(value) ?? value] as const),
	]);
	const entry = entryOf(commandEntries, `${command}`);
	const scale = entry?.slider?.scale ?? 1;
	const textOf = (name: string) => {
		const value = fields.get(name);
		return wordsOf(typeof value === "number" ? Math.round(value * scale) : value);
	};
	const text = (entryOf(commandTexts, `${command}`) ?? route?.template ?? "made a change")
		.replaceAll(/\[([^{]*)\{(\w+)\}([^\]]*)\]/g, (_, before: string, name: string, after: string) =>
			fields.has(name) ? before + textOf(name) + after : "",
		)
		.replaceAll(/\{(\w+)\}/g, (_, name: string) => textOf(name));
	const listed: readonly unknown[] = Array.isArray(devices) ? devices : [];
	// The gateway stores at most 20 of a list, and 300 characters.
	const isCut = listed.length === 20 || (listed.length > 0 && detail?.endsWith("…"));
	const ids = [deviceId, fields.get("deviceId"), device, ...(isCut ? [] : listed)];
	const parts = [all && "all devices", isCut && "many devices", room, model, tags];
	return {
		text: text.trim(),
		color: isRecord(values.value) ? hexOf(values.value.color) : undefined,
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

/** "set the name to “Lobby” and removed the note" */
function labelText(body: Readonly<Record<string, unknown>>): string {
	const sent = labelFields.filter((field) => Object.hasOwn(body, field));
	const textOf = (field: string) =>
		Array.isArray(body[field]) ? body[field].join(" ") : `${body[field] ?? ""}`;
	const list = (fields: readonly string[]) => fields.join(" and ");
	const set = sent.flatMap((field) => (textOf(field) ? `the ${field} to “${textOf(field)}”` : []));
	const removed = sent.flatMap((field) => (textOf(field) ? [] : `the ${field}`));
	const parts = [set.length > 0 && `set ${list(set)}`, removed.length > 0 && `removed ${list(removed)}`];
	return parts.filter(Boolean).join(" and ") || "changed the label";
}

/** "#rrggbb" of the color of `set_light`; undefined if it is none. */
function hexOf(color: unknown): string | undefined {
	const hex = Array.isArray(color)
		? `#${color.map((each) => Number(each).toString(16).padStart(2, "0")).join("")}`
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

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
	return isRecord(value) ? value : {};
}

/** Parses JSON that may have been truncated, without its incomplete end. */
function parsePart(text: string): unknown {
	let [whole, closers, isText] = ["{}", "", false];
	for (let at = 0; at < text.length; at += 1) {
		const char = text.charAt(at);
		if (isText && char === "\\") at += 1;
		else if (char === '"') isText = !isText;
		else if (isText) continue;
		else if (char === "{") closers = `}${closers}`;
		else if (char === "[") closers = `]${closers}`;
		else if (char === ",") whole = text.slice(0, at) + closers;
		else if (char === "}" || char === "]") {
			closers = closers.slice(1);
			whole = text.slice(0, at + 1) + closers;
		}
	}
	try {
		return JSON.parse(whole);
	} catch {
		return undefined;
	}
}
