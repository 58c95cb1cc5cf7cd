/** The fleet by rooms: each with the volume of all its speakers, and its devices. */

import type { Ask } from "../../../api/command.js";
import { announceAddress, roomAddress, useApp, useMayChange } from "../app/hooks.js";
import { titleOf } from "../app/jobs.js";
import { moveVolumes, type Room, type Volumes, volumesIn } from "../model/rooms.js";
import { Button } from "../parts/button.js";
import { Grid } from "../parts/grid.js";
import { Problem } from "../parts/problem.js";
import { useRequest } from "../parts/use-request.js";
import { Volume } from "../parts/volume.js";
import { DeviceRow } from "./device-row.js";

interface RoomsProps {
	readonly rooms: readonly Room[];
	/** Otherwise their headings alone. */
	readonly withDevices: boolean;
	readonly initialKey: string | undefined;
}

/** With its devices, a room of one device is that device's row. */
export function Rooms({ rooms, withDevices, initialKey }: RoomsProps) {
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
							initialKey={initialKey}
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
	readonly initialKey: string | undefined;
}

export function DeviceList({ label, keys, withRoom, initialKey }: DeviceListProps) {
	return (
		<Grid label={label} keys={keys} minWidth={columnRem} look="device-rows" initialKey={initialKey}>
			{withRoom ? renderWithRoom : renderRow}
		</Grid>
	);
}

const columnRem = 24;

// Functions that stay, so that rows are not rendered again while the list is scrolled.
function renderRow(key: string) {
	return <DeviceRow deviceKey={key} />;
}

function renderWithRoom(key: string) {
	return <DeviceRow deviceKey={key} withRoom />;
}

/** @param isLink it leads to the room's page; otherwise it is on that */
export function RoomBar({ room, isLink = false }: { room: Room; isLink?: boolean }) {
	const mayChange = useMayChange("set_volume");
	const { run, problem } = useRequest();
	const { name, entries, here, volumes } = room;
	const title = name ?? "No room";
	const isOff = !mayChange || here.length === 0;
	const most = volumes?.[1] ?? null;
	const setVolume = useVolumes(room);
	return (
		<section class="room-bar" aria-label={title}>
			{isLink && (
				<h2>
					<a href={roomAddress(name)}>{title}</a>
				</h2>
			)}
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
			<Volume
				label={`Volume of ${title}`}
				value={most}
				isOff={isOff}
				sentEveryMs={Math.max(sentEveryMs, here.length * eachMs)}
				onChange={(value) => run(() => setVolume(value))}
			/>
			<Problem>{problem}</Problem>
		</section>
	);
}

const sentEveryMs = 200;
/** The gateway takes 50 commands a second of one page. */
const eachMs = 25;
/** More have a job, which shows how far it is and each device's answer. */
const askedAtMost = 20;
const atATime = 4;

/**
 * Sets the volumes of a room's devices: that of the loudest, and the others keep their proportion to it.
 *
 * @returns called with the volume of the loudest; undefined: as before it was muted
 */
function useVolumes({ name }: Room): (to: number | undefined) => Promise<void> {
	const app = useApp();
	const title = name ?? "No room";
	return async (to) => {
		// A phone loads a page again that was in the background.
		const storageKey = `volumes ${name ?? ""}`;
		const before: readonly Volumes[] = JSON.parse(sessionStorage.getItem(storageKey) ?? "[]");
		const moves = moveVolumes(before, volumesIn(name, app.fleet.all()), to);
		sessionStorage.setItem(storageKey, JSON.stringify(moves));
		const next = moves.at(-1) ?? {};
		const keys = Object.keys(next);
		const askOf = (key: string): Ask => ({ command: "set_volume", value: next[key] ?? 0 });
		if (keys.length <= askedAtMost) {
			const attempts = await Promise.all(keys.map((key) => app.ask(key, askOf(key))));
			const loudest = Math.max(...Object.values(next));
			if (attempts.every(({ status }) => status === "done"))
				app.toasts.show(storageKey, `${title}: ${titleOf({ command: "set_volume", value: loudest })}`);
			return;
		}
		const [value = 0, ...others] = new Set(Object.values(next));
		if (others.length === 0) {
			const payload: Ask = { command: "set_volume", value };
			await app.jobs.begin({ targets: { devices: keys }, payload }, titleOf(payload));
			return;
		}
		app.run({
			title: to === undefined ? `Unmute ${title}` : `Volume of ${title}`,
			keys,
			atATime,
			change: async (key) => {
				const pause = new Promise((resolve) => setTimeout(resolve, atATime * eachMs));
				const [{ reason }] = await Promise.all([app.ask(key, askOf(key)), pause]);
				return reason;
			},
		});
	};
}
