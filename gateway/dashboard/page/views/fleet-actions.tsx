/** What lists offer for each device: a box that selects it, and a button that makes it flash. */

import { useDevice, useTopic } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";
import { useControl } from "../parts/controls.js";

/** Selects a device; with Shift, all from the one before. */
export function SelectBox({
	deviceKey,
	name,
	tabIndex,
}: {
	readonly deviceKey: string;
	readonly name: string;
	readonly tabIndex?: number;
}) {
	const { selection, shownKeys } = useTopic("selection");
	return (
		<input
			type="checkbox"
			class="select-box"
			tabIndex={tabIndex}
			aria-label={`Select ${name}`}
			checked={selection.keys.has(deviceKey)}
			onClick={({ shiftKey }) => selection.toggle(deviceKey, shiftKey ? shownKeys : undefined)}
		/>
	);
}

/** Makes a device flash its ring. */
export function Identify({
	deviceKey,
	tabIndex,
}: {
	readonly deviceKey: string;
	readonly tabIndex?: number;
}) {
	const entry = useDevice(deviceKey);
	const { attempt, isSending, isOff, ask: send } = useControl(deviceKey, "identify");
	const reason = attempt?.reason;
	const text = isSending ? "sending" : reason ? "Failed" : "Identify";
	return (
		<button
			type="button"
			class={`identify quiet small ${reason ? "problem" : isSending ? "sending" : ""}`}
			tabIndex={tabIndex}
			disabled={isOff}
			title={reason ?? "Identify"}
			aria-label={`${text === "Identify" ? "" : `${text}: `}Identify ${entry ? nameOf(entry) : deviceKey}`}
			onClick={() => send({ command: "identify" })}
		>
			<span>{text}</span>
		</button>
	);
}
