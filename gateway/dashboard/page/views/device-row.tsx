/** Device in a list: ring, name, volume, and a status if there is a fault or an activity. */

import { useRef } from "preact/hooks";
import { deviceAddress, useFollowedDevice, useTopic } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";
import { ControlSlider } from "../parts/controls.js";
import { DeviceState } from "../parts/presence.js";
import { Ring } from "../parts/ring.js";
import { Tags } from "../parts/tags.js";
import { SelectBox } from "./fleet-actions.js";

/** Duration of a press that selects the device. */
const longPressMs = 500;

interface DeviceRowProps {
	readonly deviceKey: string;
	/** Shows the room, if the list has no heading with it. */
	readonly withRoom?: boolean;
}

export function DeviceRow({ deviceKey, withRoom = false }: DeviceRowProps) {
	const entry = useFollowedDevice(deviceKey);
	const { selection, pendingCommands } = useTopic("selection");
	const onLongPress = useLongPress(() => selection.toggle(deviceKey));
	if (!entry) return null;
	const { session, vitals } = entry;
	const name = nameOf(entry);
	const problem = pendingCommands.get(deviceKey, "set_volume")?.reason;
	return (
		<article
			class={`device-row ${session.connected ? "" : "away"} ${selection.keys.has(deviceKey) ? "selected" : ""}`}
			{...onLongPress}
		>
			<SelectBox deviceKey={deviceKey} name={name} />
			<Ring entry={entry} size="tiny" />
			<div class="device-row-text">
				<h2>
					<a href={deviceAddress(deviceKey)}>{name}</a>
				</h2>
				<p>
					{withRoom && session.room !== undefined && session.room !== name && <span>{session.room}</span>}
					<Tags tags={session.tags} />
					<DeviceState entry={entry} />
					{problem && <span class="problem">{problem}</span>}
				</p>
			</div>
			<ControlSlider deviceKey={deviceKey} name="set_volume" deviceName={name} value={vitals.volume} />
		</article>
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
