/** The commands `restart` and `set_settings`; a settings trial begins with a restart. */

import { busy, type CommandOutcome, type Component } from "./component.js";
import type { ComponentDefinition, Core } from "./firmware.js";
import type { Command } from "./protocol/messages.js";

export const restart: ComponentDefinition = Object.freeze({
	features: Object.freeze(["settings", "restart"] as const),
	create: (core: Core) => new Restart(core),
});

class Restart implements Component {
	readonly #core: Core;

	constructor(core: Core) {
		this.#core = core;
	}

	execute(command: Command): CommandOutcome {
		if (command.command !== "restart" && command.command !== "set_settings") return undefined;
		const { trial, findBusyReason, restartSoon } = this.#core;
		const busyReason = findBusyReason();
		if (busyReason !== undefined) return busy(busyReason);
		const problem = command.command === "set_settings" ? trial.begin(command.value) : undefined;
		if (problem !== undefined) return { code: "invalid_value", message: `set_settings: ${problem}` };
		restartSoon();
		return "executed";
	}

	findBusyReason(): string | undefined {
		if (!this.#core.trial.isOn) return undefined;
		return "a settings trial is running; wait until it ends, at most two minutes";
	}

	onDisconnected(): void {
		this.#core.trial.onLost();
	}

	onReported(): void {
		this.#core.trial.onReported();
	}
}
