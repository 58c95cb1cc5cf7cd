/** Fleet by rooms, each with a common volume and its devices. */

import type { Room } from "../model/rooms.js";
import { Grid } from "../parts/grid.js";
import { DeviceRow } from "./device-row.js";
import { RoomTile } from "./room-tile.js";

interface RoomsProps {
	readonly rooms: readonly Room[];
	/** Shows the devices of each room, not only its tile. */
	readonly withDevices: boolean;
}

/** List of rooms. The tile of a room with one device is that of the device. */
export function Rooms({ rooms, withDevices }: RoomsProps) {
	return (
		<ul class="rooms" aria-label="Rooms">
			{rooms.map((room) => {
				const { name, entries } = room;
				const isSingle = withDevices && entries.length === 1;
				return (
					<li key={name ?? ""}>
						{!isSingle && <RoomTile room={room} />}
						{withDevices && (
							<Grid label={name ?? "No room"} keys={entries.map(({ key }) => key)} look="device-rows">
								{isSingle ? (key) => <DeviceRow deviceKey={key} only={room} /> : renderRow}
							</Grid>
						)}
					</li>
				);
			})}
		</ul>
	);
}

/** List of devices of several rooms. @param withRoom names the room of each */
export function DeviceList({ keys, withRoom }: { keys: readonly string[]; withRoom: boolean }) {
	return (
		<Grid label="Devices" keys={keys} minWidth={columnRem} look="device-rows spaced">
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
