/** The actions on one device or on a selection. */

import { useState } from "preact/hooks";
import type { LedPreset } from "../../../../device/protocol/messages.js";
import type { Entry } from "../../../api/client/fleet.js";
import { ask } from "../../../api/client/request.js";
import { plural } from "../../../api/client/words.js";
import type { Ask } from "../../../api/command.js";
import { label } from "../../../api/label.js";
import { cleanText } from "../../../api/text.js";
import { announceAddress, updateAddress, useApp, useDevice, useTopic } from "../app/hooks.js";
import { titleOf } from "../app/jobs.js";
import { nameOf, roomsOf } from "../model/filter.js";
import { presetWords } from "../model/presets.js";
import { Button, fewDevices, type Question } from "../parts/button.js";
import { useControl } from "../parts/controls.js";
import { Choice, Field } from "../parts/field.js";
import { Menu } from "../parts/menu.js";

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
	const { selection, shownKeys } = useTopic("selection");
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
	const { attempt, isSending, isOff, ask: send } = useControl(deviceKey, "identify");
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
			onClick={() => send({ command: "identify" })}
		>
			<span>{text}</span>
		</button>
	);
}

/** What can be done to the selected devices, in one line; what needs more has a panel that opens upwards. */
export function SelectionBar() {
	const app = useTopic("selection", "list", "shown");
	const { selection, fleet, shownKeys } = app;
	const chosen = [...selection.keys].flatMap((key) => fleet.get(key) ?? []);
	if (chosen.length === 0) return null;
	const away = chosen.filter(({ session }) => !session.connected).length;
	const shown = new Set(shownKeys);
	const hidden = chosen.filter(({ key }) => !shown.has(key)).length;
	return (
		<section class="selection" aria-label="Selected devices">
			<p role="status">
				<strong>{chosen.length.toLocaleString("en")} selected</strong>
				{away > 0 && `, ${away.toLocaleString("en")} away`}
				{hidden > 0 && `, ${hidden.toLocaleString("en")} not shown`}
			</p>
			<SelectionActions chosen={chosen} />
			<Button look="quiet small" label="Clear selection" onClick={() => selection.set([])}>
				✕
			</Button>
		</section>
	);
}

function SelectionActions({ chosen }: { chosen: readonly Entry[] }) {
	const app = useApp();
	const { fleet, jobs, selection, shownKeys } = app;
	const [volume, setVolume] = useState("50");
	const [preset, setPreset] = useState<LedPreset>("rainbow");
	const [room, setRoom] = useState("");
	const keysOf = (isHere: boolean) =>
		chosen.filter(({ session }) => session.connected === isHere).map(({ key }) => key);
	const [here, away] = [keysOf(true), keysOf(false)];
	const others = shownKeys.filter((key) => !selection.keys.has(key)).length;
	const button = (text: string, payload: Ask, close: () => void) => (
		<Button
			action={payload.command}
			disabled={here.length === 0}
			question={
				here.length > fewDevices && {
					title: `${titleOf(payload)}: ${plural(here.length, "device")}?`,
					text: <p>{notAskedText(away.length)}</p>,
				}
			}
			onClick={async () => {
				await jobs.begin({ targets: { devices: here }, payload });
				close();
			}}
		>
			{text}
		</Button>
	);
	const change = (title: string, keys: readonly string[], how: Parameters<typeof ask>[1]) =>
		app.run({
			title,
			keys,
			atATime,
			change: async (key) => {
				await ask(`api/devices/${encodeURIComponent(key)}`, how);
				return null;
			},
		});
	const isNoRoom = cleanText(room) === "";
	const links = (look: string) => (
		<>
			<a class={`button ${look}`} href={announceAddress({ keys: selection.keys })}>
				Announce…
			</a>
			<a class={`button ${look}`} href={updateAddress(selection.keys)}>
				Update…
			</a>
		</>
	);
	return (
		<div class="actions">
			<Menu label="Volume" look="small">
				{(close) => (
					<div class="pair">
						<Field label="Volume" type="number" range={[0, 100]} value={volume} onInput={setVolume} />
						{button("Set volume", { command: "set_volume", value: volumeOf(volume) }, close)}
					</div>
				)}
			</Menu>
			{links("small")}
			<Menu label="More" look="small">
				{(close) => (
					<>
						{others > 0 && (
							<Button onClick={() => selection.set([...selection.keys, ...shownKeys])}>
								Select {others.toLocaleString("en")} more
							</Button>
						)}
						{links("")}
						<div class="pair">
							<Choice label="Ring" value={preset} onChange={setPreset} options={presetWords} />
							{button("Set ring", { command: "set_led", value: preset }, close)}
						</div>
						<div class="pair">
							<Field
								label="Room"
								known={roomsOf(fleet.all())}
								maxLength={label.fields.room.maxLength}
								placeholder="None"
								value={room}
								onInput={setRoom}
							/>
							<Button
								isChange
								question={
									(isNoRoom || chosen.length > fewDevices) && {
										title: `${roomTitle(room)}: ${plural(chosen.length, "device")}?`,
										text: <p>The rooms that they are in now are {isNoRoom ? "removed" : "replaced"}.</p>,
										...(isNoRoom && { loss: { do: "Remove rooms", keep: "Keep them" } }),
									}
								}
								onClick={() => {
									const all = chosen.map(({ key }) => key);
									change(roomTitle(room), all, { method: "PATCH", body: { room } });
									close();
								}}
							>
								Set room
							</Button>
						</div>
						{button("Identify", { command: "identify" }, close)}
						{button("Restart", { command: "restart" }, close)}
						{button("Reconnect", { command: "boot_device" }, close)}
						{away.length > 0 && (
							<Button
								isChange
								question={forgetQuestion(away.length)}
								onClick={() => change("Forget", away, { method: "DELETE" })}
							>
								Forget {away.length.toLocaleString("en")} away
							</Button>
						)}
					</>
				)}
			</Menu>
		</div>
	);
}

export function forgetQuestion(count: number): Question {
	return {
		title: `Forget ${plural(count, "device")}?`,
		text: (
			<p>
				Their names, rooms and notes, crashes and updates are deleted. A device that connects again is new.
			</p>
		),
		loss: { do: `Forget ${plural(count, "device")}`, keep: count === 1 ? "Keep it" : "Keep them" },
	};
}

function notAskedText(away: number): string {
	if (away === 0) return "Each device's answer is shown.";
	return `Each device's answer is shown. ${plural(away, "device")} of the selection ${away === 1 ? "is" : "are"} away and not asked.`;
}

function roomTitle(room: string): string {
	return cleanText(room) === "" ? "No room" : `Room ${cleanText(room)}`;
}

function volumeOf(text: string): number {
	return Math.max(0, Math.min(100, Math.round(Number(text) || 0)));
}
