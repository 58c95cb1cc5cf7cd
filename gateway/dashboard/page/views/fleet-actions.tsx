/** The actions on one device or on a selection, and each device's answer. */

import { useId, useState } from "preact/hooks";
import type { LedPreset } from "../../../../device/protocol/messages.js";
import { plural } from "../../../api/client/words.js";
import { topics } from "../app/app.js";
import { announceAddress, updateAddress, useApp, useIsLive, useTopic } from "../app/hooks.js";
import type { FleetItem } from "../model/fleet-change.js";
import { presetWords } from "../model/presets.js";
import { Choice } from "../parts/choice.js";
import { Confirm } from "../parts/confirm.js";
import { useControl } from "../parts/controls.js";
import { Grid } from "../parts/grid.js";
import { type DeviceAction, forget, perform } from "./device-actions.js";
import { DeviceLink } from "./device-link.js";

/** Above it a confirmation is required. */
const fewDevices = 20;

interface OfDevice {
	readonly deviceKey: string;
	readonly tabIndex?: number;
}

/** Selects a device; with Shift, all from the one before. */
export function SelectBox({ deviceKey, tabIndex }: OfDevice) {
	useTopic(topics.selection);
	const { selection, shownKeys } = useApp();
	return (
		<input
			type="checkbox"
			class="select-box"
			tabIndex={tabIndex}
			aria-label={`Select ${deviceKey}`}
			checked={selection.keys.has(deviceKey)}
			onClick={({ shiftKey }) => {
				if (shiftKey) selection.extend(deviceKey, shownKeys);
				else selection.toggle(deviceKey);
			}}
		/>
	);
}

/** Makes a device flash its ring. */
export function Identify({ deviceKey, tabIndex }: OfDevice) {
	const { attempt, isSending, isOff, ask } = useControl(deviceKey, "identify");
	const reason = attempt?.reason;
	const text = isSending ? "sending" : reason ? "Failed" : "Identify";
	return (
		<button
			type="button"
			class={`identify quiet small ${reason ? "problem" : isSending ? "sending" : ""}`}
			tabIndex={tabIndex}
			disabled={isOff}
			title={reason ?? "Identify"}
			aria-label={text === "Identify" ? `Identify ${deviceKey}` : `${text}: Identify ${deviceKey}`}
			onClick={() => ask({ command: "identify" })}
		>
			<span>{text}</span>
		</button>
	);
}

/** @param keys as they are shown */
export function SelectionBar({ keys }: { keys: readonly string[] }) {
	useTopic(topics.selection);
	useTopic(topics.actions);
	const app = useApp();
	const isLive = useIsLive();
	const [volume, setVolume] = useState("50");
	const [preset, setPreset] = useState<LedPreset>("rainbow");
	const { selection, fleet, actions } = app;
	const chosen = [...selection.keys].flatMap((key) => fleet.get(key) ?? []);
	if (chosen.length === 0) return null;
	const here = chosen.filter(({ session }) => session.connected).map(({ key }) => key);
	const away = chosen.filter(({ session }) => !session.connected).map(({ key }) => key);
	const shown = new Set(keys);
	const hidden = chosen.filter(({ key }) => !shown.has(key)).length;
	const isOff = !isLive || actions.isRunning;
	const button = (label: string, action: DeviceAction) => (
		<Confirm
			label={label}
			title={`${action.title}: ${plural(here.length, "device")}?`}
			disabled={isOff || here.length === 0}
			asks={here.length > fewDevices}
			onConfirm={() => perform(app, action, here)}
		>
			<p>{notAskedText(away.length)}</p>
		</Confirm>
	);
	return (
		<section class="selection" aria-label="Selected devices">
			<div class="selection-head">
				<p role="status">
					<strong>{plural(chosen.length, "device")} selected</strong>
					{away.length > 0 && `, ${away.length.toLocaleString("en")} away`}
					{hidden > 0 && `, ${hidden.toLocaleString("en")} not shown`}
				</p>
				<button type="button" class="quiet small" onClick={() => selection.set([])}>
					Clear selection
				</button>
			</div>
			<div class="actions">
				<div class="pair">
					<label class="choice">
						<span>Volume</span>
						<input
							type="number"
							min={0}
							max={100}
							value={volume}
							onInput={({ currentTarget }) => setVolume(currentTarget.value)}
						/>
					</label>
					{button("Set volume", {
						title: `Volume ${volumeOf(volume)}`,
						ask: { command: "set_volume", value: volumeOf(volume) },
					})}
				</div>
				<div class="pair">
					<Choice
						label="Ring"
						value={preset}
						onChange={(value) => setPreset(presetWords.find(([one]) => one === value)?.[0] ?? preset)}
						options={presetWords}
					/>
					{button("Set ring", {
						title: `Ring: ${presetWords.find(([one]) => one === preset)?.[1]}`,
						ask: { command: "set_led", value: preset },
					})}
				</div>
				{button("Identify", { title: "Identify", ask: { command: "identify" } })}
				{button("Restart", { title: "Restart", ask: { command: "restart" } })}
				{button("Reconnect", { title: "Reconnect", ask: { command: "boot_device" } })}
				<a class="button" href={updateAddress(selection.keys)}>
					Update…
				</a>
				<a class="button" href={announceAddress({ keys: selection.keys })}>
					Announce…
				</a>
				{away.length > 0 && (
					<Confirm
						label={`Forget ${away.length.toLocaleString("en")} away`}
						title={`Forget ${plural(away.length, "device")}?`}
						disabled={isOff}
						onConfirm={() => forget(app, away)}
					>
						<p>{forgetText}</p>
					</Confirm>
				)}
			</div>
		</section>
	);
}

export const forgetText =
	"Their names, rooms and notes, crashes and updates are deleted. A device that connects again is new.";

function notAskedText(away: number): string {
	if (away === 0) return "Each device's answer is shown.";
	return `Each device's answer is shown. ${plural(away, "device")} of the selection ${away === 1 ? "is" : "are"} away and not asked.`;
}

function volumeOf(text: string): number {
	return Math.max(0, Math.min(100, Math.round(Number(text) || 0)));
}

const words: Readonly<Record<FleetItem["status"], string>> = {
	waiting: "to come",
	running: "asked",
	kept: "done",
	failed: "failed",
	not_begun: "not begun",
};
const order: readonly FleetItem["status"][] = ["failed", "running", "waiting", "not_begun", "kept"];

/** The results of the latest action, failures first. */
export function ActionResults() {
	const { actions } = useApp();
	useTopic(topics.actions);
	const id = useId();
	const { items, title, isRunning } = actions;
	if (items.length === 0) return null;
	const count = (status: FleetItem["status"]) => items.filter((item) => item.status === status).length;
	const counts = order
		.filter((status) => count(status) > 0)
		.map((status) => `${count(status).toLocaleString("en")} ${words[status]}`);
	const sorted = order.flatMap((status) => items.filter((item) => item.status === status));
	const byKey = new Map(items.map((item) => [item.key, item]));
	return (
		<section class="panel results" aria-labelledby={id}>
			<div class="results-head">
				<h2 id={id}>{title}</h2>
				<p role="status">{counts.join(", ")}</p>
				{isRunning ? (
					<button type="button" class="small" onClick={() => actions.cancel()}>
						Cancel
					</button>
				) : (
					<button type="button" class="quiet small" onClick={() => actions.clear()}>
						Close
					</button>
				)}
			</div>
			<div class="results-list">
				<Grid label="Answers" keys={sorted.map(({ key }) => key)} height={34} gap={0}>
					{(key) => <Result item={byKey.get(key)} />}
				</Grid>
			</div>
		</section>
	);
}

function Result({ item }: { item: FleetItem | undefined }) {
	if (!item) return null;
	const { key, status, reason } = item;
	return (
		<div class="result">
			<DeviceLink deviceKey={key} />
			<span class={status === "failed" ? "problem" : "hint"}>
				{words[status]}
				{reason && `: ${reason}`}
			</span>
		</div>
	);
}
