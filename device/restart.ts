/** The commands `restart` and `set_settings`; a settings trial begins with a restart. */

import { type Answer, busy, type Component } from "./component.js";
import type { ComponentKind, Core } from "./firmware.js";
import type { Command } from "./protocol/messages.js";

export const restart: ComponentKind = Object.freeze({
	features: Object.freeze(["settings", "restart"] as const),
	create: (core: Core) => new Restart(core),
});

class Restart implements Component {
	readonly #core: Core;

	constructor(core: Core) {
		this.#core = core;
	}

	execute(command: Command): Answer {
		if (command.command !== "restart" && command.command !== "set_settings") return undefined;
		const { trial, findWork, restartSoon } = this.#core;
		const work = findWork();
		if (work !== undefined) return busy(work);
		const problem = command.command === "set_settings" ? trial.begin(command.value) : undefined;
		if (problem !== undefined) return { code: "invalid_value", message: `set_settings: ${problem}` };
		restartSoon();
		return "executed";
	}

	findWork(): string | undefined {
		if (!this.#core.trial.isOn) return undefined;
		return "new settings are being tried; wait until that has ended, at most two minutes";
	}

	onDisconnected(): void {
		this.#core.trial.onLost();
	}

	onDrained(): void {
		this.#core.trial.onDrained();
	}
}
