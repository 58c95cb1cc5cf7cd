/** The actions on one device or on a selection. */

import { useState } from "preact/hooks";
import type { LedPreset } from "../../../../device/protocol/messages.js";
import { ask as request } from "../../../api/client/request.js";
import { plural } from "../../../api/client/words.js";
import { topics } from "../app/app.js";
import { announceAddress, updateAddress, useApp, useDevice, useIsLive, useTopic } from "../app/hooks.js";
import { titleOf } from "../app/jobs.js";
import type { Ask } from "../model/attempts.js";
import { nameOf, roomsOf } from "../model/filter.js";
import { presetWords } from "../model/presets.js";
import { Choice } from "../parts/choice.js";
import { Confirm } from "../parts/confirm.js";
import { useControl } from "../parts/controls.js";
import { Problem } from "../parts/problem.js";

/** Above it a confirmation is required. */
export const fewDevices = 20;
/** Requests that this page makes at the same time. */
const atATime = 4;

interface OfDevice {
	readonly deviceKey: string;
	readonly tabIndex?: number;
}

function useName(deviceKey: string): string {
	const entry = useDevice(deviceKey);
	return entry ? nameOf(entry) : deviceKey;
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
			aria-label={`Select ${useName(deviceKey)}`}
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
	const name = useName(deviceKey);
	const reason = attempt?.reason;
	const text = isSending ? "sending" : reason ? "Failed" : "Identify";
	return (
		<button
			type="button"
			class={`identify quiet small ${reason ? "problem" : isSending ? "sending" : ""}`}
			tabIndex={tabIndex}
			disabled={isOff}
			title={reason ?? "Identify"}
			aria-label={text === "Identify" ? `Identify ${name}` : `${text}: Identify ${name}`}
			onClick={() => ask({ command: "identify" })}
		>
			<span>{text}</span>
		</button>
	);
}

/** What can be done to the selected devices; each device's answer is shown above it. */
export function SelectionBar() {
	for (const topic of [topics.selection, topics.list, topics.shown]) useTopic(topic);
	const app = useApp();
	const isLive = useIsLive();
	const [volume, setVolume] = useState("50");
	const [preset, setPreset] = useState<LedPreset>("rainbow");
	const [room, setRoom] = useState("");
	const [problem, setProblem] = useState("");
	const { selection, fleet, shownKeys } = app;
	const chosen = [...selection.keys].flatMap((key) => fleet.get(key) ?? []);
	if (chosen.length === 0) return null;
	const here = chosen.filter(({ session }) => session.connected).map(({ key }) => key);
	const away = chosen.filter(({ session }) => !session.connected).map(({ key }) => key);
	const shown = new Set(shownKeys);
	const hidden = chosen.filter(({ key }) => !shown.has(key)).length;
	const others = shownKeys.filter((key) => !selection.keys.has(key)).length;
	const button = (label: string, payload: Ask) => (
		<Confirm
			label={label}
			title={`${titleOf(payload)}: ${plural(here.length, "device")}?`}
			disabled={!isLive || here.length === 0}
			asks={here.length > fewDevices}
			onConfirm={async () => setProblem((await app.jobs.send({ devices: here }, payload)) ?? "")}
		>
			<p>{notAskedText(away.length)}</p>
		</Confirm>
	);
	const run = (title: string, keys: readonly string[], ofKey: Parameters<typeof request>[1]) =>
		app.jobs.run({
			title,
			keys,
			atATime,
			change: async (key) => {
				await request(`api/devices/${encodeURIComponent(key)}`, ofKey);
				return null;
			},
		});
	return (
		<section class="selection" aria-label="Selected devices">
			<div class="selection-head">
				<p role="status">
					<strong>{plural(chosen.length, "device")} selected</strong>
					{away.length > 0 && `, ${away.length.toLocaleString("en")} away`}
					{hidden > 0 && `, ${hidden.toLocaleString("en")} not shown`}
				</p>
				<div class="actions">
					{others > 0 && (
						<button
							type="button"
							class="quiet small"
							onClick={() => selection.set([...selection.keys, ...shownKeys])}
						>
							Select {others.toLocaleString("en")} more
						</button>
					)}
					<button type="button" class="quiet small" onClick={() => selection.set([])}>
						Clear selection
					</button>
				</div>
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
					{button("Set volume", { command: "set_volume", value: volumeOf(volume) })}
				</div>
				<div class="pair">
					<Choice
						label="Ring"
						value={preset}
						onChange={(value) => setPreset(presetWords.find(([one]) => one === value)?.[0] ?? preset)}
						options={presetWords}
					/>
					{button("Set ring", { command: "set_led", value: preset })}
				</div>
				<div class="pair">
					<label class="choice">
						<span>Room</span>
						<input
							type="text"
							list="rooms-known"
							maxLength={64}
							placeholder="None"
							value={room}
							onInput={({ currentTarget }) => setRoom(currentTarget.value)}
						/>
						<datalist id="rooms-known">
							{roomsOf(fleet.all()).map((one) => (
								<option key={one} value={one} />
							))}
						</datalist>
					</label>
					<Confirm
						label="Set room"
						title={`${roomTitle(room)}: ${plural(chosen.length, "device")}?`}
						disabled={!isLive}
						asks={chosen.length > fewDevices}
						onConfirm={() =>
							run(
								roomTitle(room),
								chosen.map(({ key }) => key),
								{ method: "PATCH", body: { room: room.trim() } },
							)
						}
					>
						<p>The rooms that they are in now are replaced.</p>
					</Confirm>
				</div>
				{button("Identify", { command: "identify" })}
				{button("Restart", { command: "restart" })}
				{button("Reconnect", { command: "boot_device" })}
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
						disabled={!isLive}
						onConfirm={() => run("Forget", away, { method: "DELETE" })}
					>
						<p>{forgetText}</p>
					</Confirm>
				)}
			</div>
			<Problem>{problem}</Problem>
		</section>
	);
}

export const forgetText =
	"Their names, rooms and notes, crashes and updates are deleted. A device that connects again is new.";

function notAskedText(away: number): string {
	if (away === 0) return "Each device's answer is shown.";
	return `Each device's answer is shown. ${plural(away, "device")} of the selection ${away === 1 ? "is" : "are"} away and not asked.`;
}

function roomTitle(room: string): string {
	return room.trim() === "" ? "No room" : `Room ${room.trim()}`;
}

function volumeOf(text: string): number {
	return Math.max(0, Math.min(100, Math.round(Number(text) || 0)));
}
