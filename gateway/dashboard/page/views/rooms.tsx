/** The fleet by rooms: each with how many of its devices are here, its weakest signal, and what is done to all of it. */

import { useState } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import type { Ask } from "../../../api/command.js";
import { announceAddress, roomAddress, useApp, useMayChange } from "../app/hooks.js";
import { titleOf } from "../app/jobs.js";
import { moveVolumes, type Room, type Volumes, volumesIn } from "../model/rooms.js";
import { Button } from "../parts/button.js";
import { Grid } from "../parts/grid.js";
import { Signal } from "../parts/presence.js";
import { Problem } from "../parts/problem.js";
import { useRequest } from "../parts/use-request.js";
import { announcedIn } from "./fleet-toolbar.js";

/** @param cards undefined: without their devices */
export function Rooms({ rooms, card }: { rooms: readonly Room[]; card?: CardLook | undefined }) {
	return (
		<ul class="rooms" aria-label="Rooms">
			{rooms.map((room) => (
				<li key={room.name ?? ""} class={card && "with-cards"}>
					<RoomBar room={room} isLink />
					{card && (
						<Grid label={room.name ?? "No room"} keys={room.entries.map(({ key }) => key)} {...card}>
							{card.children}
						</Grid>
					)}
				</li>
			))}
		</ul>
	);
}

export type CardLook = Pick<Parameters<typeof Grid>[0], "minWidth" | "look" | "children">;

/** @param isLink it leads to the room's page; otherwise it is on that */
export function RoomBar({ room, isLink = false }: { room: Room; isLink?: boolean }) {
	const app = useApp();
	const mayChange = useMayChange("set_volume");
	const { run, problem } = useRequest();
	const { name, entries, here, weakest, wrong } = room;
	const title = name ?? "No room";
	const keys = here.map(({ key }) => key);
	const targets = name === undefined ? { devices: keys } : { room: name };
	const send = (payload: Ask) =>
		run(async () => void (await app.jobs.begin({ targets, payload }, titleOf(payload))));
	const isOff = !mayChange || here.length === 0;
	return (
		<section class="room-bar" aria-label={title}>
			<div class="room-name">
				{isLink && (
					<h2>
						<a href={roomAddress(name)}>{title}</a>
					</h2>
				)}
				<p class="facts">
					{isLink && (
						<span>
							{here.length.toLocaleString("en")} of {entries.length.toLocaleString("en")} here
						</span>
					)}
					{isLink && wrong > 0 && <span class="problem">{plural(wrong, "problem")}</span>}
					{weakest && <Signal entry={weakest} />}
				</p>
			</div>
			<div class="actions">
				<Button
					look="quiet small"
					disabled={isOff}
					label={`Identify ${title}`}
					onClick={() => send({ command: "identify" })}
				>
					Identify
				</Button>
				<a
					class="button small"
					aria-label={`Announce in ${title}`}
					href={announceAddress(announcedIn(name ?? "", entries))}
				>
					Announce…
				</a>
			</div>
			<Volume room={room} isOff={isOff} send={send} />
			<Problem>{problem}</Problem>
		</section>
	);
}

/** 40 commands a second; the gateway takes 50 of one page. */
const atATime = 4;
const eachMs = 100;

interface VolumeProps {
	readonly room: Room;
	readonly isOff: boolean;
	readonly send: (payload: Ask) => void;
}

/** The volume of the loudest device that is in the room now; the others keep their proportion to it. Sent when it is let go. */
function Volume({ room: { name, volumes }, isOff, send }: VolumeProps) {
	const app = useApp();
	const [least, most] = volumes ?? [0, 0];
	const [wanted, setWanted] = useState<number>();
	const shown = wanted ?? most;
	const title = name ?? "No room";
	/** @param to undefined: as before it was muted */
	const move = (to?: number) => {
		// A phone loads a page again that was in the background.
		const storageKey = `volumes ${name ?? ""}`;
		const before: readonly Volumes[] = JSON.parse(sessionStorage.getItem(storageKey) ?? "[]");
		const moves = moveVolumes(before, volumesIn(name, app.fleet.all()), to);
		sessionStorage.setItem(storageKey, JSON.stringify(moves));
		const next = moves.at(-1) ?? {};
		const values = new Set(Object.values(next));
		const [value = to ?? 50] = values;
		if (values.size <= 1) return send({ command: "set_volume", value });
		app.run({
			title: to === undefined ? `Unmute ${title}` : `Volume of ${title}`,
			keys: Object.keys(next),
			atATime,
			change: async (key) => {
				const [{ reason }] = await Promise.all([
					app.ask(key, { command: "set_volume", value: next[key] ?? 0 }),
					new Promise((resolve) => setTimeout(resolve, eachMs)),
				]);
				return reason;
			},
		});
	};
	return (
		<div class="room-volume">
			<label>
				<span class="visually-hidden">Volume of {title}</span>
				<input
					type="range"
					min={0}
					max={100}
					value={shown}
					disabled={isOff}
					onInput={({ currentTarget }) => setWanted(Number(currentTarget.value))}
					onChange={({ currentTarget }) => {
						setWanted(undefined);
						move(Number(currentTarget.value));
					}}
				/>
			</label>
			<span class="hint">{wanted ?? (volumes && (least === most ? most : `${least}–${most}`))}</span>
			<Button
				look="quiet small"
				disabled={isOff}
				isPressed={volumes !== undefined && most === 0}
				label={`Mute ${title}`}
				onClick={() => move(most > 0 ? 0 : undefined)}
			>
				Mute
			</Button>
		</div>
	);
}
