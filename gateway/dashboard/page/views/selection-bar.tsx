/** Actions for the selected devices. */

import more from "lucide-static/icons/ellipsis.svg";
import tagIcon from "lucide-static/icons/tag.svg";
import volumeIcon from "lucide-static/icons/volume-2.svg";
import cross from "lucide-static/icons/x.svg";
import { useRef, useState } from "preact/hooks";
import type { LedPreset } from "../../../../device/protocol/messages.js";
import { chosenPresets } from "../../../api/client/command-words.js";
import type { Entry } from "../../../api/client/fleet.js";
import { plural } from "../../../api/client/words.js";
import { type ConfirmableCommand, titleOf } from "../../../api/commands.js";
import { label } from "../../../api/label.js";
import { cleanText } from "../../../api/text.js";
import { viewAddress } from "../app/addresses.js";
import { changeLabel } from "../app/change-label.js";
import { request } from "../app/gateway.js";
import { useTopic } from "../app/hooks.js";
import { fewDevices, isFarReaching, placeText, roomsOf } from "../model/rooms.js";
import { parseTagList, tagsOf } from "../model/tags.js";
import { Button } from "../parts/button.js";
import { Choice, Field } from "../parts/field.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { Permitted } from "../parts/permitted.js";

/** Time within which the gateway reports changed tags. */
const reportedWithinMs = 5_000;

/** Bar with one line of actions; others open in menus. */
export function SelectionBar() {
	const app = useTopic("selection", "list", "shown");
	const { selection, fleet, shownKeys } = app;
	const [volume, setVolume] = useState("50");
	const [preset, setPreset] = useState<LedPreset>("rainbow");
	/** Tags that were sent and may not be reported yet. */
	const sent = useRef(new Map<string, { readonly tags: readonly string[]; readonly at: number }>());
	const [typed, setRoom] = useState("");
	const chosen = [...selection.keys].flatMap((key) => fleet.get(key) ?? []);
	if (chosen.length === 0) return null;
	const keysOf = (some: readonly Entry[]) => some.map(({ key }) => key);
	const shown = new Set(shownKeys);
	const hidden = chosen.filter(({ key }) => !shown.has(key)).length;
	const others = shownKeys.filter((key) => !selection.keys.has(key)).length;
	const room = cleanText(typed);
	const counted = (count: number, text: string) => count > 0 && `, ${count.toLocaleString("en")} ${text}`;
	const here = chosen.filter(({ session }) => session.connected);
	const away = chosen.filter(({ session }) => !session.connected);
	const skipped =
		away.length > 0
			? ` ${plural(away.length, "device")} of the selection ${away.length === 1 ? "is" : "are"} offline and skipped.`
			: "";
	const button = (
		text: string,
		payload: ConfirmableCommand,
		close: () => void,
		isAsked = isFarReaching(here),
	) => (
		<Button
			action={payload.command}
			disabled={here.length === 0}
			question={
				isAsked && {
					title: `${titleOf(payload)}${payload.command === "restart" ? "" : ":"} ${plural(here.length, "device")}${placeText(here)}?`,
					text: `The result of each device is shown.${skipped}`,
				}
			}
			onClick={async () => {
				await app.commandDevices(payload, here);
				close();
			}}
		>
			{text}
		</Button>
	);
	const changeTags = (tags: readonly string[], isAdded: boolean) => {
		const before = new Map<string, readonly string[]>();
		const setTags = (key: string, now: readonly string[], next: readonly string[]) => {
			sent.current.set(key, { tags: next, at: performance.now() });
			return changeLabel(key, { tags: now }, { tags: next });
		};
		const change = (key: string) => {
			const latest = sent.current.get(key);
			const isRecent = latest && performance.now() - latest.at < reportedWithinMs;
			const now = (isRecent ? latest.tags : fleet.get(key)?.session.tags) ?? [];
			const others = now.filter((tag) => !tags.includes(tag));
			before.set(key, now);
			return setTags(key, now, isAdded ? [...others, ...tags] : others);
		};
		const undo = (key: string) => setTags(key, sent.current.get(key)?.tags ?? [], before.get(key) ?? []);
		const title = `${isAdded ? "Add" : "Remove"} ${tags.join(", ")}`;
		app.run({ title, keys: keysOf(chosen), change, undo });
	};
	const changeRoom = () => {
		const before = new Map(chosen.map(({ key, session }) => [key, session]));
		const change = (key: string) => changeLabel(key, before.get(key) ?? {}, { room });
		const undo = (key: string) => changeLabel(key, { room }, { room: before.get(key)?.room ?? "" });
		app.run({ title: roomTitle, keys: keysOf(chosen), change, undo });
	};
	const roomTitle = room === "" ? "No room" : `Room ${room}`;
	const links = (
		<>
			<a class="button" href={viewAddress("announce", { devices: [...selection.keys] })}>
				Announce…
			</a>
			<Permitted isSilent>
				<a class="button" href={viewAddress("firmware", { devices: [...selection.keys] })}>
					Update…
				</a>
			</Permitted>
		</>
	);
	return (
		<section class="selection" aria-label="Selected devices">
			<p role="status">
				<strong>{chosen.length.toLocaleString("en")}</strong>
				<span>
					{" "}
					<strong>selected</strong>
					{counted(away.length, "offline")}
					{counted(hidden, "not shown")}
				</span>
			</p>
			<div class="actions">
				<Permitted action="set_volume">
					<Menu label="Volume" look="compact" icon={volumeIcon}>
						{(close) => (
							<div class="pair">
								<Field label="Volume" type="number" range={[0, 100]} value={volume} onInput={setVolume} />
								{button("Set volume", { command: "set_volume", value: volumeOf(volume) }, close)}
							</div>
						)}
					</Menu>
					<Permitted isSilent>
						<Menu label="Tags" look="compact" icon={tagIcon}>
							{() => <SelectedTags entries={chosen} known={tagsOf(fleet.all())} onChange={changeTags} />}
						</Menu>
					</Permitted>
					<span class="wide">{links}</span>
					<Menu label="More" look="compact" icon={more}>
						{(close) => (
							<>
								{others > 0 && (
									<Button onClick={() => selection.set([...selection.keys, ...shownKeys])}>
										Select {others.toLocaleString("en")} more
									</Button>
								)}
								<span class="narrow">{links}</span>
								<div class="pair">
									<Choice label="Ring" value={preset} onChange={setPreset} options={chosenPresets} />
									{button("Set ring", { command: "set_led", value: preset }, close)}
								</div>
								<Permitted isSilent>
									<div class="pair">
										<Field
											label="Room"
											known={roomsOf(fleet.all())}
											maxLength={label.fields.room.maxLength}
											placeholder="None"
											value={typed}
											onInput={setRoom}
										/>
										<Button
											isChange
											question={
												(room === "" || chosen.length > fewDevices) && {
													title: `${roomTitle}: ${plural(chosen.length, "device")}?`,
													text: `Their current rooms are ${room === "" ? "removed" : "replaced"}.`,
													...(room === "" && { loss: { do: "Remove rooms", keep: "Keep them" } }),
												}
											}
											onClick={() => {
												changeRoom();
												close();
											}}
										>
											Set room
										</Button>
									</div>
								</Permitted>
								{button("Flash light", { command: "identify" }, close)}
								{button("Restart", { command: "restart" }, close, here.length > 1)}
								{button("Reconnect", { command: "boot_device" }, close)}
								<Permitted isSilent>
									{away.length > 0 && (
										<Button
											isChange
											question={{
												title: `Forget ${plural(away.length, "device")}${placeText(away)}?`,
												text: "Their labels and history are deleted. A device that reconnects is added as a new one.",
												loss: {
													do: `Forget ${plural(away.length, "device")}`,
													keep: away.length === 1 ? "Keep it" : "Keep them",
												},
											}}
											onClick={() =>
												app.run({
													title: "Forget",
													keys: keysOf(away),
													change: (deviceId) =>
														request("DELETE /api/devices/:deviceId", { params: { deviceId } }),
												})
											}
										>
											Forget {away.length.toLocaleString("en")} offline
										</Button>
									)}
								</Permitted>
							</>
						)}
					</Menu>
				</Permitted>
			</div>
			<Button look="quiet icon-button" label="Clear selection" onClick={() => selection.set([])}>
				<Icon of={cross} />
			</Button>
		</section>
	);
}

function volumeOf(text: string): number {
	return Math.max(0, Math.min(100, Math.round(Number(text) || 0)));
}

interface SelectedTagsProps {
	readonly entries: readonly Entry[];
	/** Tags of all devices. */
	readonly known: readonly string[];
	readonly onChange: (tags: readonly string[], isAdded: boolean) => void;
}

/** Tags as buttons that add them to, or remove them from, the selected devices, and a field for new ones. */
function SelectedTags({ entries, known, onChange }: SelectedTagsProps) {
	const [typed, setTyped] = useState("");
	return (
		<>
			<ul class="tags">
				{known.map((tag) => {
					const count = entries.filter(({ session }) => session.tags?.includes(tag)).length;
					const hasAll = count === entries.length;
					return (
						<li key={tag}>
							<Button look="tag" isChange isPressed={hasAll} onClick={() => onChange([tag], !hasAll)}>
								{tag}
								{!hasAll && count > 0 && ` ${count.toLocaleString("en")}`}
							</Button>
						</li>
					);
				})}
			</ul>
			<div class="pair">
				<Field label="New tags" value={typed} onInput={setTyped} />
				<Button
					isChange
					disabled={typed.trim() === ""}
					onClick={() => {
						onChange(parseTagList(typed), true);
						setTyped("");
					}}
				>
					Add
				</Button>
			</div>
			<p class="hint">Separate tags with spaces.</p>
		</>
	);
}
