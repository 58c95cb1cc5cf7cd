/** Actions of devices in lists: a check box that selects, and a button that flashes the ring. */

import { useDevice, useTopic } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";
import { useControl } from "../parts/controls.js";

interface ActionProps {
	readonly deviceKey: string;
	readonly tabIndex?: number;
}

/** Check box that selects a device; with Shift, a range of devices. */
export function SelectBox({ deviceKey, name, tabIndex }: ActionProps & { readonly name: string }) {
	const { selection, shownKeys } = useTopic("selection");
	return (
		<label class="select-box">
			<input
				type="checkbox"
				tabIndex={tabIndex}
				aria-label={`Select ${name}`}
				checked={selection.keys.has(deviceKey)}
				onClick={({ shiftKey }) => selection.toggle(deviceKey, shiftKey ? shownKeys : undefined)}
			/>
		</label>
	);
}

/** Button that flashes the ring of a device. */
export function Identify({ deviceKey, tabIndex }: ActionProps) {
	const entry = useDevice(deviceKey);
	const { attempt, isSending, isOff, denial, send } = useControl(deviceKey, "identify");
	const reason = attempt?.reason;
	const text = isSending ? "sending" : reason ? "Failed" : "Flash light";
	return (
		<button
			type="button"
			class={`identify quiet small ${reason ? "problem" : isSending ? "sending" : ""}`}
			tabIndex={tabIndex}
			disabled={isOff}
			title={denial ?? reason ?? "Flash light"}
			aria-label={`${text === "Flash light" ? "" : `${text}: `}Flash light of ${entry ? nameOf(entry) : deviceKey}`}
			onClick={() => send({ command: "identify" })}
		>
			<span>{text}</span>
		</button>
	);
}
