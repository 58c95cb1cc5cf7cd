/** Component for firmware updates, and for the confirmation of new firmware. */

import config from "mc/config";
import { type Answer, busy, type Component } from "../component.js";
import type { ComponentKind, Core } from "../firmware.js";
import type { Command } from "../protocol/messages.js";
import { Updater } from "./updater.js";

export const updates: ComponentKind = Object.freeze({
	features: Object.freeze(["delta"] as const),
	create: (core: Core) => new Updates(core),
});

class Updates implements Component {
	readonly #core: Core;
	readonly #updater: Updater;

	constructor(core: Core) {
		const { host, gateway, system, now, onUpdate, restart } = core;
		this.#core = core;
		this.#updater = new Updater({
			network: host.network,
			certificate: gateway.certificate,
			createLookup: () => gateway.createLookup(),
			slot: host.update.slot,
			running: host.update.running,
			patchDecoder: host.update.patchDecoder,
			sha256: host.digest.sha256,
			chip: host.chip,
			model: host.model,
			securityVersion: system.securityVersion,
			releaseKeys: String(config.release_keys ?? ""),
			now,
			isOnline: () => gateway.isConnected,
			headersFor: (address) => gateway.headersFor(address),
			send: (message) => {
				if (message.type === "ota_progress") return gateway.send(message);
				// Progress is not traced: it would displace everything else in crash reports and the live log.
				trace(`update: ${message.type === "ota_error" ? message.reason : message.type}\n`);
				gateway.sendSurely(message);
			},
			log: (text) => system.print(text),
			onRunning: onUpdate,
			restart,
		});
	}

	execute(command: Command): Answer {
		if (command.command !== "start_ota") return undefined;
		const work = this.#core.findWork();
		if (work !== undefined) return busy(work);
		this.#updater.start(command);
		return "executed";
	}

	/** While an image is unconfirmed the boot loader would return to the previous one. */
	findWork(): string | undefined {
		if (this.#updater.isRunning) return "an update is under way; wait until it has ended";
		if (this.#core.probation.isOn) return "the firmware is new and not confirmed yet; try again in a minute";
		return undefined;
	}

	onConnected(): void {
		this.#updater.resume();
	}

	onDrained(): void {
		const { peripherals, probation, settings } = this.#core;
		if (peripherals.audio) probation.onReported(peripherals.audio.isReady, settings);
	}
}
