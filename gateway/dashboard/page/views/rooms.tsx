/** Fleet by rooms, each with a common volume and its devices. */

import down from "lucide-static/icons/chevron-down.svg";
import up from "lucide-static/icons/chevron-up.svg";
import { useEffect, useState } from "preact/hooks";
import { useApp } from "../app/hooks.js";
import type { Room } from "../model/rooms.js";
import { Button } from "../parts/button.js";
import { Grid } from "../parts/grid.js";
import { Icon } from "../parts/icon.js";
import { DeviceRow } from "./device-row.js";
import { RoomTile, type Timer } from "./room-tile.js";

interface RoomsProps {
	readonly rooms: readonly Room[];
	readonly timers: readonly Timer[];
	/** Whether the devices of a room can be shown, not only its tile. */
	readonly withDevices: boolean;
}

export function Rooms({ rooms, ...options }: RoomsProps) {
	return (
		<ul class="rooms" aria-label="Rooms">
			{rooms.map((room) => (
				<RoomCard key={room.name ?? ""} room={room} {...options} />
			))}
		</ul>
	);
}

function RoomCard({ room, timers, withDevices }: Omit<RoomsProps, "rooms"> & { readonly room: Room }) {
	const app = useApp();
	const { name = "", entries } = room;
	const keys = entries.map(({ key }) => key);
	const [isOpen, setIsOpen] = useState(app.openRooms.has(name));
	useEffect(() => {
		const ends = withDevices ? keys.map((key) => app.follow(key)) : [];
		return () => {
			for (const end of ends) end();
		};
	}, [app, withDevices, keys.join()]);
	const toggle = () => {
		if (isOpen) app.openRooms.delete(name);
		else app.openRooms.add(name);
		setIsOpen(!isOpen);
	};
	return (
		<li>
			<RoomTile room={room} timers={timers}>
				{withDevices && (
					<Button
						look="icon-button quiet"
						label={`Devices in ${name || "No room"}`}
						isOpen={isOpen}
						onClick={toggle}
					>
						<Icon of={isOpen ? up : down} />
					</Button>
				)}
			</RoomTile>
			{withDevices && isOpen && (
				<Grid label={name || "No room"} keys={keys}>
					{renderRow}
				</Grid>
			)}
		</li>
	);
}

/** List of devices of several rooms. @param withRoom names the room of each */
export function DeviceList({ keys, withRoom }: { keys: readonly string[]; withRoom: boolean }) {
	useSelectionHint(keys.length > 1);
	return (
		<Grid label="Devices" keys={keys} minWidth={columnRem} look="spaced">
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

/** Tells once how devices are selected by touch. */
function useSelectionHint(isUseful: boolean): void {
	const { toasts } = useApp();
	useEffect(() => {
		if (!isUseful || !matchMedia("(hover: none)").matches || localStorage.getItem("hint")) return;
		localStorage.setItem("hint", "selection");
		toasts.show("selection", "Press and hold a device to select it.");
	}, [toasts, isUseful]);
}
