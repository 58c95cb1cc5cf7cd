/**
 * Controls of a device. Each shows the requested value as `sending` until the device's report confirms it. After a failure it shows
 * the reported value and the reason.
 */

import type { ComponentChildren } from "preact";
import {
	type ConfirmableCommand,
	commandEntries,
	type SliderName,
	sliderOf,
	titleOf,
} from "../../../api/commands.js";
import { endsConnection } from "../../../api/confirmation.js";
import { useApp, useDenial, useDevice, useMayChange } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";
import type { RequestedName } from "../model/pending-commands.js";
import { Button } from "./button.js";
import { Problem } from "./problem.js";
import { Slider } from "./slider.js";

/** @param deviceKey a device's id */
export function useControl(deviceKey: string, name: RequestedName) {
	const app = useApp();
	const entry = useDevice(deviceKey);
	const mayChange = useMayChange(name);
	const attempt = app.pendingCommands.get(deviceKey, name);
	const isSending = attempt?.status === "pending";
	return {
		attempt,
		/** Whether a command is not confirmed yet. */
		isSending,
		/** Requested value that is not confirmed yet. */
		requested:
			isSending && attempt.ask.command === name && "value" in attempt.ask ? attempt.ask.value : undefined,
		/** Tooltip if the role does not permit the command. */
		denial: useDenial(name),
		/** Whether commands are disabled now. */
		isOff: !mayChange || !entry?.session.connected,
		send: async (ask: ConfirmableCommand) => {
			const { status } = await app.sendCommand(deviceKey, ask);
			// A slider shows its value itself.
			if (status === "done" && entry && !("slider" in commandEntries[name]))
				app.toasts.show(`${name} ${deviceKey}`, `${nameOf(entry)}: ${titleOf(ask)}`);
		},
	};
}

/** Progress or failure of a command. */
export function Outcome({ deviceKey, name }: { deviceKey: string; name: RequestedName }) {
	const { pendingCommands } = useApp();
	const { attempt, isSending } = useControl(deviceKey, name);
	return (
		<div class={`outcome ${attempt?.reason ? "failed" : ""}`}>
			<span role="status" class={isSending ? "sending" : ""}>
				{isSending && (commandEntries[name].sending ?? "sending")}
			</span>
			<Problem>{attempt?.reason}</Problem>
			{attempt?.reason && (
				<Button look="quiet small" label="Dismiss" onClick={() => pendingCommands.dismiss(deviceKey, name)}>
					✕
				</Button>
			)}
		</div>
	);
}

interface ControlSliderProps {
	readonly deviceKey: string;
	readonly name: SliderName;
	/** Reported value; null if unknown. */
	readonly value: number | null;
	readonly isMuted?: boolean;
	readonly limit?: number | undefined;
}

export function ControlSlider({ deviceKey, name, value, isMuted, limit }: ControlSliderProps) {
	const { requested, isOff, denial, send } = useControl(deviceKey, name);
	const { label, scale, range } = sliderOf(name);
	const shown = requested === undefined ? value : Number(requested);
	return (
		<Slider
			label={label}
			range={range}
			value={shown === null ? null : Math.round(shown * scale)}
			isMuted={isMuted}
			limit={limit}
			isOff={isOff}
			tooltip={denial}
			onChange={(next) => send({ command: name, value: next / scale })}
		>
			<Outcome deviceKey={deviceKey} name={name} />
		</Slider>
	);
}

interface ActionProps {
	readonly deviceKey: string;
	readonly ask: ConfirmableCommand;
	/** Classes. */
	readonly look?: string;
	/** Accessible name of a button without text. */
	readonly label?: string;
	readonly onSent?: () => void;
	readonly children?: ComponentChildren;
}

/** Button that sends a command. */
export function Action({ deviceKey, ask, look = "", label, onSent, children }: ActionProps) {
	const { isSending, isOff, send } = useControl(deviceKey, ask.command);
	return (
		<Button
			look={look}
			label={label}
			action={ask.command}
			disabled={isOff || (isSending && endsConnection(ask))}
			onClick={() => {
				send(ask);
				onSent?.();
			}}
		>
			{children}
		</Button>
	);
}
