/** Executes commands. One that cannot be executed changes nothing and is answered with `command_error`. */

import type { Diagnostics } from "./diagnostics.js";
import type { Audio } from "./peripherals/audio.js";
import type { Haptics } from "./peripherals/haptics.js";
import type { LedRing } from "./peripherals/led-ring.js";
import {
	type ChangedSettings,
	type Command,
	type CommandError,
	type CommandErrorCode,
	type CommandOf,
	checkCommand,
} from "./protocol/messages.js";
import { isRecord, type Model } from "./protocol/schema.js";

/** Why a command that is valid by its schema is refused. */
export interface Objection {
	readonly code: "busy" | "invalid_value";
	/** One sentence that says what to change. */
	readonly message: string;
}

export interface CommandsOptions {
	readonly deviceId: string;
	readonly model: Model;
	readonly peripherals: {
		/** Undefined in safe mode. */
		readonly audio: Pick<Audio, "volume" | "play"> | undefined;
		readonly ring: Pick<LedRing, "isUpdating" | "preset" | "brightness" | "identify">;
		readonly haptics: Pick<Haptics, "intensity"> | undefined;
	};
	/** A state report is requested. */
	readonly onQuery: () => void;
	readonly diagnostics: Pick<Diagnostics, "reportCrash" | "clearCrash" | "setLog">;
	/** @returns a sentence that says why no update starts now; undefined: it starts */
	readonly onUpdate: (command: CommandOf<"start_ota">) => string | undefined;
	/** @returns a sentence that says why the device cannot restart now; undefined: it restarts */
	readonly onRestart: () => string | undefined;
	/** @returns why new settings cannot be tried; undefined: the device restarts with them */
	readonly onSettings: (changed: ChangedSettings) => Objection | undefined;
	readonly send: (error: CommandError) => void;
}

export class Commands {
	readonly #options: CommandsOptions;

	constructor(options: CommandsOptions) {
		this.#options = options;
	}

	/** @param message parsed JSON */
	receive(message: unknown): void {
		const checked = checkCommand(message, this.#options.model);
		if (checked.refusal) {
			const name = isRecord(message) ? message.command : undefined;
			return this.#refuse(
				typeof name === "string" ? name.slice(0, 64) : "",
				checked.refusal.code,
				checked.refusal.message,
			);
		}
		this.#execute(checked.command);
	}

	#execute(command: Command): void {
		const { onQuery, onUpdate, onRestart, onSettings, diagnostics } = this.#options;
		const { audio, ring, haptics } = this.#options.peripherals;
		switch (command.command) {
			case "set_volume":
				if (!audio) return this.#refuseInSafeMode(command.command);
				audio.volume = command.value;
				return;
			case "query_state":
				return onQuery();
			case "set_led":
				if (ring.isUpdating)
					return this.#refuse(command.command, "busy", "the ring shows the update; try again after it");
				return ring.preset(command.value);
			case "play_audio":
				if (ring.isUpdating)
					return this.#refuse(command.command, "busy", "the device is being updated; try again after it");
				if (!audio) return this.#refuseInSafeMode(command.command);
				return audio.play(command.value);
			case "identify":
				if (ring.isUpdating)
					return this.#refuse(command.command, "busy", "the ring shows the update; try again after it");
				ring.identify();
				return audio?.play("startup");
			case "set_brightness":
				ring.brightness = command.value;
				return;
			case "set_haptics":
				// In safe mode; the check has refused a model without a motor.
				if (!haptics) return this.#refuseInSafeMode(command.command);
				haptics.intensity = command.value;
				return;
			case "start_ota": {
				const busy = onUpdate(command);
				if (busy !== undefined) this.#refuse(command.command, "busy", busy);
				return;
			}
			case "restart": {
				const busy = onRestart();
				if (busy !== undefined) this.#refuse(command.command, "busy", busy);
				return;
			}
			case "set_settings": {
				const objection = onSettings(command.value);
				if (objection) this.#refuse(command.command, objection.code, objection.message);
				return;
			}
			case "query_crash":
				return diagnostics.reportCrash();
			case "clear_crash":
				return diagnostics.clearCrash(command.id);
			case "set_log":
				return diagnostics.setLog(command);
			default:
				// The compiler reports a command without a case.
				return command satisfies never;
		}
	}

	#refuseInSafeMode(command: string): void {
		this.#refuse(
			command,
			"busy",
			"the device is in safe mode, without sound and motor: update or restart it",
		);
	}

	#refuse(command: string, code: CommandErrorCode, message: string): void {
		const { deviceId, send } = this.#options;
		send({ type: "command_error", deviceId, command, code, message });
	}
}
