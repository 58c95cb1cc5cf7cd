/** The fleet by rooms: each with how many of its devices are here, its weakest signal, and what is done to all of it. */

import { useState } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import type { Ask } from "../../../api/command.js";
import { announceAddress, roomAddress, useApp, useMayChange } from "../app/hooks.js";
import { titleOf } from "../app/jobs.js";
import type { Room } from "../model/rooms.js";
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

export type CardLook = Pick<Parameters<typeof Grid>[0], "height" | "gap" | "children"> & {
	readonly minWidth: number;
};

/** @param isLink it leads to the room's page; otherwise it is on that */
export function RoomBar({ room, isLink = false }: { room: Room; isLink?: boolean }) {
	const app = useApp();
	const mayChange = useMayChange();
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

interface VolumeProps {
	readonly room: Room;
	readonly isOff: boolean;
	readonly send: (payload: Ask) => void;
}

/** One volume for all that are in the room now. It is sent when the slider is let go. */
function Volume({ room: { name, volumes }, isOff, send }: VolumeProps) {
	const [least, most] = volumes ?? [0, 0];
	const [wanted, setWanted] = useState<number>();
	const [before, setBefore] = useState(50);
	const shown = wanted ?? most;
	const set = (value: number) => send({ command: "set_volume", value });
	const title = name ?? "No room";
	const mute = () => {
		if (most > 0) setBefore(most);
		set(most > 0 ? 0 : before);
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
						set(Number(currentTarget.value));
					}}
				/>
			</label>
			<span class="hint">{wanted ?? (volumes && (least === most ? most : `${least}–${most}`))}</span>
			<Button
				look="quiet small"
				disabled={isOff}
				isPressed={volumes !== undefined && most === 0}
				label={`Mute ${title}`}
				onClick={mute}
			>
				Mute
			</Button>
		</div>
	);
}
