/** Tile of a device in a list. */

import { useRef } from "preact/hooks";
import { deviceAddress } from "../app/addresses.js";
import { useFollowedDevice, useTopic } from "../app/hooks.js";
import { volumeText } from "../app/mute.js";
import { nameOf } from "../model/filter.js";
import { DeviceState } from "../parts/presence.js";
import { Tags } from "../parts/tags.js";
import { Tile } from "../parts/tile.js";
import { onDemand } from "./on-demand.js";
import { SelectBox } from "./select-box.js";

const Ring = onDemand(undefined, async () => (await import("./later.js")).Ring);
/** Duration of a press that selects the device. */
const longPressMs = 500;

interface DeviceRowProps {
	readonly deviceKey: string;
	/** Shows the room, if the list has no heading with it. */
	readonly withRoom?: boolean;
}

export function DeviceRow({ deviceKey, withRoom = false }: DeviceRowProps) {
	const entry = useFollowedDevice(deviceKey);
	const { selection } = useTopic("selection");
	const gestures = useLongPress(() => selection.toggle(deviceKey));
	if (!entry) return null;
	const { session } = entry;
	const name = nameOf(entry);
	const volume = volumeText(entry);
	return (
		<Tile
			title={name}
			href={deviceAddress(deviceKey)}
			look={`device-row ${session.connected ? "" : "away"} ${selection.keys.has(deviceKey) ? "selected" : ""}`}
			figure={<Ring entry={entry} />}
			state={
				<>
					{withRoom && session.room !== undefined && session.room !== name && (
						<span class="fact">{session.room}</span>
					)}
					<span class="fact">
						<DeviceState entry={entry}>
							{typeof volume === "number" ? `Volume ${volume}` : volume}
						</DeviceState>
					</span>
					<Tags tags={session.tags} />
				</>
			}
			entries={[entry]}
			gestures={gestures}
		>
			<SelectBox keys={[deviceKey]} what={name} />
		</Tile>
	);
}

/** Detects a long press of a finger, and suppresses the click and the context menu. A mouse uses the check box. */
function useLongPress(action: () => void) {
	const press = useRef({ isTouch: false, isLong: false, timer: 0 });
	const end = () => window.clearTimeout(press.current.timer);
	return {
		onPointerDown: ({ pointerType, target }: PointerEvent) => {
			const isOnControl = target instanceof Element && target.closest("input, button, label");
			press.current = { isTouch: pointerType === "touch", isLong: false, timer: 0 };
			if (!press.current.isTouch || isOnControl) return;
			press.current.timer = window.setTimeout(() => {
				press.current.isLong = true;
				action();
			}, longPressMs);
		},
		onPointerUp: end,
		onPointerCancel: end,
		onPointerMove: ({ movementX, movementY }: PointerEvent) => Math.hypot(movementX, movementY) > 4 && end(),
		onContextMenu: (event: Event) => press.current.isTouch && event.preventDefault(),
		onClick: (event: Event) => {
			if (press.current.isLong) event.preventDefault();
			press.current.isLong = false;
		},
	};
}
