/** Fleet by rooms, each with a common volume and its devices. */

import { useRef } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import { titleOf } from "../../../api/commands.js";
import { announceAddress, roomAddress, useApp, useMayChange } from "../app/hooks.js";
import type { Attempt } from "../model/pending-commands.js";
import { moveVolumes, type Room, type Volumes, volumesOf } from "../model/rooms.js";
import { Button } from "../parts/button.js";
import { Grid } from "../parts/grid.js";
import { Problem } from "../parts/problem.js";
import { Slider } from "../parts/slider.js";
import { useRequest } from "../parts/use-request.js";
import { DeviceRow } from "./device-row.js";
import { RoomQuiet } from "./quiet-link.js";

interface RoomsProps {
	readonly rooms: readonly Room[];
	/** Shows the devices of each room, not only the headings. */
	readonly withDevices: boolean;
}

/** List of rooms. A room with one device is shown as the row of that device. */
export function Rooms({ rooms, withDevices }: RoomsProps) {
	return (
		<ul class="rooms" aria-label="Rooms">
			{rooms.map((room) => (
				<li key={room.name ?? ""}>
					{(!withDevices || room.entries.length > 1) && <RoomBar room={room} isLink />}
					{withDevices && (
						<DeviceList
							label={room.name ?? "No room"}
							keys={room.entries.map(({ key }) => key)}
							withRoom={room.entries.length === 1}
						/>
					)}
				</li>
			))}
		</ul>
	);
}

interface DeviceListProps {
	readonly label: string;
	readonly keys: readonly string[];
	readonly withRoom: boolean;
}

export function DeviceList({ label, keys, withRoom }: DeviceListProps) {
	return (
		<Grid label={label} keys={keys} minWidth={columnRem} look="device-rows">
			{withRoom ? renderWithRoom : renderRow}
		</Grid>
	);
}

const columnRem = 24;

// Stable functions, so that rows are not rendered again while the list is scrolled.
function renderRow(key: string) {
	return <DeviceRow deviceKey={key} />;
}

function renderWithRoom(key: string) {
	return <DeviceRow deviceKey={key} withRoom />;
}

/** @param isLink links the heading to the page of the room */
export function RoomBar({ room, isLink = false }: { room: Room; isLink?: boolean }) {
	const mayChange = useMayChange("set_volume");
	const { run, problem } = useRequest();
	const { name, entries } = room;
	const title = name ?? "No room";
	const volumes = volumesOf(entries);
	const count = Object.keys(volumes).length;
	const most = count === 0 ? null : Math.max(...Object.values(volumes));
	const isOff = !mayChange || count === 0;
	const setVolume = useSetVolume(title, volumes);
	return (
		<section class="room-bar" aria-label={title}>
			<div>
				{isLink && (
					<h2>
						<a href={roomAddress(name)}>{title}</a>
					</h2>
				)}
				<RoomQuiet room={name} isOffered={!isLink} />
			</div>
			<a
				class="button quiet small"
				aria-label={`Announce in ${title}`}
				href={announceAddress(
					name === undefined ? { keys: new Set(entries.map(({ key }) => key)) } : { room: name },
				)}
			>
				Announce…
			</a>
			<Button
				look="quiet small mute"
				disabled={isOff}
				isPressed={most === 0}
				label={`Mute ${title}`}
				onClick={() => run(() => setVolume(most === 0 ? undefined : 0))}
			>
				Mute
			</Button>
			<Slider
				isInline
				label={`Volume of ${title}`}
				value={most}
				isOff={isOff}
				sentEveryMs={Math.max(sentEveryMs, (count * pauseMs) / batchSize)}
				onChange={(value) => run(() => setVolume(value))}
			/>
			<Problem>{problem}</Problem>
		</section>
	);
}

const sentEveryMs = 200;
/** Batch size and pause, below the gateway's limit of 50 commands per second and page. */
const batchSize = 20;
const pauseMs = 500;

/**
 * Sets the volumes of the devices of a room proportionally.
 *
 * @param volumes reported volumes
 * @returns function that sets the volume of the loudest device; undefined restores the volume before mute
 */
function useSetVolume(title: string, volumes: Volumes): (to: number | undefined) => Promise<void> {
	const app = useApp();
	const latest = useRef<readonly Volumes[]>([]);
	return async (to) => {
		// Session storage survives the reload of a background page on phones.
		const storageKey = `volumes ${title}`;
		const moves = moveVolumes(JSON.parse(sessionStorage.getItem(storageKey) ?? "[]"), volumes, to);
		sessionStorage.setItem(storageKey, JSON.stringify(moves));
		latest.current = moves;
		const next = Object.entries(moves.at(-1) ?? {});
		const attempts: Promise<Attempt>[] = [];
		while (attempts.length < next.length) {
			if (attempts.length > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
			if (latest.current !== moves) return;
			for (const [key, value] of next.slice(attempts.length, attempts.length + batchSize))
				attempts.push(app.sendCommand(key, { command: "set_volume", value }));
		}
		const failed = (await Promise.all(attempts)).filter(({ status }) => status !== "done");
		if (latest.current !== moves) return;
		if (failed[0])
			throw new Error(`Failed on ${failed.length} of ${plural(next.length, "device")}: ${failed[0].reason}`);
		const loudest = Math.max(...next.map(([, value]) => value));
		app.toasts.show(storageKey, `${title}: ${titleOf({ command: "set_volume", value: loudest })}`);
	};
}
