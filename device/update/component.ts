/** Component for firmware updates, and for the confirmation of new firmware. */

import config from "mc/config";
import { busy, type CommandOutcome, type Component } from "../component.js";
import type { ComponentDefinition, Core } from "../firmware.js";
import type { Command } from "../protocol/messages.js";
import { Updater } from "./updater.js";

export const updates: ComponentDefinition = Object.freeze({
	features: Object.freeze(["delta", "cancel"] as const),
	create: (core: Core) => new Updates(core),
});

class Updates implements Component {
	readonly #core: Core;
	readonly #updater: Updater;

	constructor(core: Core) {
		const { host, gateway, system, now, onUpdate, restart } = core;
		this.#core = core;
		this.#updater = new Updater({
			host,
			gateway,
			securityVersion: system.securityVersion,
			releaseKeys: String(config.release_keys ?? ""),
			now,
			send: (message) => {
				if (message.type === "ota_progress") return gateway.send(message);
				// Progress is not traced: it would displace everything else in crash reports and the live log.
				trace(`update: ${message.type === "ota_error" ? message.reason : message.type}\n`);
				gateway.sendReliably(message);
			},
			log: (text) => system.print(text),
			onRunning: onUpdate,
			restart,
		});
	}

	execute(command: Command): CommandOutcome {
		if (command.command === "cancel_ota")
			return this.#updater.stop("The update was canceled.")
				? "executed"
				: busy("the new firmware is being activated; wait until the device has restarted");
		if (command.command !== "start_ota") return undefined;
		const busyReason = this.#core.findBusyReason();
		if (busyReason !== undefined) return busy(busyReason);
		this.#updater.start(command);
		return "executed";
	}

	/** While an image is unconfirmed, a restart would roll it back. */
	findBusyReason(): string | undefined {
		if (this.#updater.isRunning) return "an update is running; wait until it ends";
		if (this.#core.probation.isOn) return "the new firmware is not confirmed yet; try again in a minute";
		return undefined;
	}

	onConnected(): void {
		this.#updater.resume();
	}

	onReported(): void {
		const { peripherals, probation, settings } = this.#core;
		if (peripherals.audio) probation.onReported(peripherals.audio.isReady, settings);
	}
}
