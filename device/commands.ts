/** Checks and executes commands. One that cannot be executed changes nothing and is answered with `command_error`. */

import type { Diagnostics } from "./diagnostics.js";
import type { Audio } from "./peripherals/audio.js";
import type { Haptics } from "./peripherals/haptics.js";
import type { LedRing } from "./peripherals/led-ring.js";
import {
	type ChangedSettings,
	type Command,
	type CommandError,
	type CommandOf,
	checkCommand,
} from "./protocol/messages.js";
import { isRecord, type Model } from "./protocol/schema.js";
import type { Sounds } from "./sound/sounds.js";

/** Why a command that is valid by its schema is refused. */
export interface Objection {
	readonly code: "busy" | "invalid_value";
	/** One sentence that says what to change. */
	readonly message: string;
}

/** What commands act on. */
export interface CommandTargets {
	readonly peripherals: {
		/** Undefined in safe mode. */
		readonly audio: Pick<Audio, "volume" | "play"> | undefined;
		readonly ring: Pick<LedRing, "isUpdating" | "preset" | "brightness" | "identify">;
		readonly haptics: Pick<Haptics, "intensity"> | undefined;
	};
	/** Undefined in safe mode. */
	readonly sounds: Pick<Sounds, "play" | "start" | "stop"> | undefined;
	/** A state report is requested. */
	readonly onQuery: () => void;
	readonly diagnostics: Pick<Diagnostics, "reportCrash" | "clearCrash" | "setLog">;
	/** @returns a sentence that says why no update starts now; undefined: it starts */
	readonly onUpdate: (command: CommandOf<"start_ota">) => string | undefined;
	/** @returns a sentence that says why the device cannot restart now; undefined: it restarts */
	readonly onRestart: () => string | undefined;
	/** @returns why new settings cannot be tried; undefined: the device restarts with them */
	readonly onSettings: (changed: ChangedSettings) => Objection | undefined;
}

/** @returns why it is refused; undefined: it is executed */
export function executeCommand(command: Command, targets: CommandTargets): Objection | undefined {
	const { onQuery, onUpdate, onRestart, onSettings, diagnostics, sounds } = targets;
	const { audio, ring, haptics } = targets.peripherals;
	switch (command.command) {
		case "set_volume":
			if (!audio) return inSafeMode();
			audio.volume = command.value;
			return undefined;
		case "query_state":
			onQuery();
			return undefined;
		case "set_led":
			if (ring.isUpdating) return busy("the ring shows the update; try again after it");
			ring.preset(command.value);
			return undefined;
		case "play_audio":
			if (ring.isUpdating) return busy("the device is being updated; try again after it");
			if (!audio) return inSafeMode();
			audio.play(command.value);
			return undefined;
		case "play_sound":
			if (ring.isUpdating) return busy("the device is being updated; try again after it");
			return sounds ? sounds.play(command.value) : inSafeMode();
		case "start_sound":
			return sounds ? sounds.start(command.value.id) : inSafeMode();
		case "stop_sound":
			sounds?.stop("command", command.value?.id);
			return undefined;
		case "identify":
			if (ring.isUpdating) return busy("the ring shows the update; try again after it");
			ring.identify();
			audio?.play("startup");
			return undefined;
		case "set_brightness":
			ring.brightness = command.value;
			return undefined;
		case "set_haptics":
			// In safe mode; the check has refused a model without a motor.
			if (!haptics) return inSafeMode();
			haptics.intensity = command.value;
			return undefined;
		case "start_ota":
			return busy(onUpdate(command));
		case "restart":
			return busy(onRestart());
		case "set_settings":
			return onSettings(command.value);
		case "query_crash":
			diagnostics.reportCrash();
			return undefined;
		case "clear_crash":
			diagnostics.clearCrash(command.id);
			return undefined;
		case "set_log":
			diagnostics.setLog(command);
			return undefined;
		default:
			// The compiler reports a command without a case.
			command satisfies never;
			return undefined;
	}
}

function busy(message: string | undefined): Objection | undefined {
	return message === undefined ? undefined : { code: "busy", message };
}

function inSafeMode(): Objection | undefined {
	return busy("the device is in safe mode, without sound and motor: update or restart it");
}

export interface CommandsOptions {
	readonly deviceId: string;
	readonly model: Model;
	/** @returns why a valid command is refused; undefined: it is executed */
	readonly execute: (command: Command) => Objection | undefined;
	readonly send: (error: CommandError) => void;
}

export class Commands {
	readonly #options: CommandsOptions;

	constructor(options: CommandsOptions) {
		this.#options = options;
	}

	/** @param message parsed JSON */
	receive(message: unknown): void {
		const { deviceId, model, execute, send } = this.#options;
		const checked = checkCommand(message, model);
		const objection = checked.refusal ?? execute(checked.command);
		if (!objection) return;
		const name = isRecord(message) ? message.command : undefined;
		const command = typeof name === "string" ? name.slice(0, 64) : "";
		const { code, message: sentence } = objection;
		send({ type: "command_error", deviceId, command, code, message: sentence });
	}
}
