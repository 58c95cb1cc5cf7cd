/** Executes commands. A command that cannot be executed changes nothing and is answered with `command_error`. */

import type { Audio } from "./peripherals/audio.js";
import type { Haptics } from "./peripherals/haptics.js";
import type { LedRing } from "./peripherals/led-ring.js";
import {
	type Command,
	type CommandError,
	type CommandErrorCode,
	type CommandOf,
	checkCommand,
} from "./protocol/messages.js";
import { isRecord, type Model } from "./protocol/schema.js";

export interface CommandsOptions {
	readonly deviceId: string;
	readonly model: Model;
	readonly peripherals: {
		readonly audio: Pick<Audio, "volume" | "play">;
		readonly ring: Pick<LedRing, "isUpdating" | "preset" | "brightness" | "identify">;
		readonly haptics: Pick<Haptics, "intensity"> | undefined;
	};
	/** A state report is requested. */
	readonly onQuery: () => void;
	/** An update is requested. @returns a sentence that says why not now; undefined: it starts */
	readonly onUpdate: (command: CommandOf<"start_ota">) => string | undefined;
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
		const { onQuery, onUpdate } = this.#options;
		const { audio, ring, haptics } = this.#options.peripherals;
		switch (command.command) {
			case "set_volume":
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
				return audio.play(command.value);
			case "identify":
				if (ring.isUpdating)
					return this.#refuse(command.command, "busy", "the ring shows the update; try again after it");
				ring.identify();
				return audio.play("startup");
			case "set_brightness":
				ring.brightness = command.value;
				return;
			case "set_haptics":
				if (haptics) haptics.intensity = command.value;
				return;
			case "start_ota": {
				const busy = onUpdate(command);
				if (busy !== undefined) this.#refuse(command.command, "busy", busy);
				return;
			}
		}
	}

	#refuse(command: string, code: CommandErrorCode, message: string): void {
		const { deviceId, send } = this.#options;
		send({ type: "command_error", deviceId, command, code, message });
	}
}
