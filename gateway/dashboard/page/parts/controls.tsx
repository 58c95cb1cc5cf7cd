/**
 * The controls of a device. Each shows what was asked for as `sending` until the device's own report says so, and falls
 * back to what the device reports, with the reason, where it was refused.
 */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import type { Ask } from "../../../api/command.js";
import { endsConnection } from "../../../api/confirmation.js";
import { useApp, useDevice, useMayChange } from "../app/hooks.js";
import { titleOf } from "../app/jobs.js";
import type { AskedName, Attempt } from "../model/asks.js";
import { nameOf } from "../model/filter.js";
import { Button } from "./button.js";
import { Range } from "./field.js";
import { Problem } from "./problem.js";

interface Control {
	readonly attempt: Attempt | undefined;
	/** Whether it is asked for and not confirmed yet. */
	readonly isSending: boolean;
	/** Why nothing can be asked now. */
	readonly isOff: boolean;
	readonly ask: (ask: Ask) => unknown;
}

/** @param deviceKey a device's id */
export function useControl(deviceKey: string, name: AskedName): Control {
	const app = useApp();
	const entry = useDevice(deviceKey);
	const mayChange = useMayChange(name);
	return {
		attempt: app.asks.get(deviceKey, name),
		isSending: app.asks.isPending(deviceKey, name),
		isOff: !mayChange || !entry?.session.connected,
		ask: async (ask) => {
			const { status } = await app.ask(deviceKey, ask);
			if (status === "done" && entry)
				app.toasts.show(`${name} ${deviceKey}`, `${nameOf(entry)}: ${titleOf(ask)}`);
		},
	};
}

/** What has become of what was asked for. */
export function Outcome({ deviceKey, name }: { deviceKey: string; name: AskedName }) {
	const { asks } = useApp();
	const { attempt, isSending } = useControl(deviceKey, name);
	return (
		<div class={`outcome ${attempt?.reason ? "refused" : ""}`}>
			<span role="status" class={isSending ? "sending" : ""}>
				{isSending && (name === "restart" ? "restarting" : "sending")}
			</span>
			<Problem>{attempt?.reason}</Problem>
			{attempt?.reason && (
				<Button look="quiet small" label="Dismiss" onClick={() => asks.dismiss(deviceKey, name)}>
					✕
				</Button>
			)}
		</div>
	);
}

interface SliderProps {
	readonly deviceKey: string;
	readonly name: "set_volume" | "set_brightness" | "set_haptics";
	readonly label: string;
	/** What the device reports, 0 to `scale`. */
	readonly value: number;
	/** 1 or 100; people see 0 to 100. */
	readonly scale: 1 | 100;
}

export function Slider({ deviceKey, name, label, value, scale }: SliderProps) {
	const { attempt, isSending, isOff, ask } = useControl(deviceKey, name);
	const wanted = isSending && attempt && "value" in attempt.ask ? Number(attempt.ask.value) : value;
	return (
		<Range
			label={label}
			value={Math.round((wanted / scale) * 100)}
			disabled={isOff}
			onInput={(percent) => ask({ command: name, value: (percent * scale) / 100 })}
		>
			<Outcome deviceKey={deviceKey} name={name} />
		</Range>
	);
}

interface ChoicesProps<T extends string> {
	readonly deviceKey: string;
	readonly name: AskedName;
	readonly label: string;
	readonly options: readonly (readonly [value: T, text: string])[];
	readonly value: T;
	readonly toAsk: (value: T) => Ask;
}

/** One of a few, of which one is always on. */
export function Choices<T extends string>({
	deviceKey,
	name,
	label,
	options,
	value,
	toAsk,
}: ChoicesProps<T>) {
	const id = useId();
	const { attempt, isSending, isOff, ask } = useControl(deviceKey, name);
	const wanted = isSending && attempt && "value" in attempt.ask ? attempt.ask.value : value;
	return (
		<fieldset class="control choices" disabled={isOff}>
			<legend>{label}</legend>
			<div class="segments">
				{options.map(([one, text]) => (
					<label key={one} class={`segment ${one}`}>
						<input
							type="radio"
							name={id}
							value={one}
							checked={wanted === one}
							onChange={() => ask(toAsk(one))}
						/>
						<span class="segment-text">{text}</span>
					</label>
				))}
			</div>
			<Outcome deviceKey={deviceKey} name={name} />
		</fieldset>
	);
}

interface ActionProps {
	readonly deviceKey: string;
	readonly ask: Ask;
	readonly isPrimary?: boolean;
	/** It would change nothing. */
	readonly isNeedless?: boolean;
	readonly onAsk?: () => void;
	readonly children: ComponentChildren;
}

/** Something to be done once. */
export function Action({ deviceKey, ask, isPrimary, isNeedless, onAsk, children }: ActionProps) {
	const { isSending, isOff, ask: send } = useControl(deviceKey, ask.command);
	return (
		<Button
			look={isPrimary ? "primary" : ""}
			disabled={isOff || isNeedless || (isSending && endsConnection(ask))}
			onClick={() => {
				send(ask);
				onAsk?.();
			}}
		>
			{children}
		</Button>
	);
}
