/** Validates commands and dispatches them to the components. A rejected command changes nothing and is answered with `command_error`. */

import { busy, type CommandRejection, type Component } from "./component.js";
import { type Command, type CommandError, checkCommand } from "./protocol/messages.js";
import { isRecord, type Model } from "./protocol/schema.js";

export interface CommandsOptions {
	readonly deviceId: string;
	readonly model: Model;
	readonly components: readonly Component[];
	readonly isSafeMode: boolean;
	readonly send: (error: CommandError) => void;
}

export class Commands {
	readonly #options: CommandsOptions;

	constructor(options: CommandsOptions) {
		this.#options = options;
	}

	/** @param message parsed JSON */
	receive(message: unknown): void {
		const { deviceId, model, send } = this.#options;
		const checked = checkCommand(message, model);
		const rejection = checked.rejection ?? this.#execute(checked.command);
		if (!rejection) return;
		const name = isRecord(message) ? message.command : undefined;
		const command = typeof name === "string" ? name.slice(0, 64) : "";
		const { code, message: sentence } = rejection;
		send({ type: "command_error", deviceId, command, code, message: sentence });
	}

	/** @returns undefined if the command was executed */
	#execute(command: Command): CommandRejection | undefined {
		const { components, isSafeMode } = this.#options;
		for (const component of components) {
			const outcome = component.execute?.(command);
			if (outcome !== undefined) return outcome === "executed" ? undefined : outcome;
		}
		if (isSafeMode)
			return busy("the device is in safe mode, without sound and haptics; update or restart it");
		return { code: "unknown_command", message: `this firmware was built without ${command.command}` };
	}
}
