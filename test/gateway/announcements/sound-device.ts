/** Device that plays sounds as the firmware does, without a speaker, and records its commands. */

import { existsSync } from "node:fs";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../../support/scripted-device.js";
import type { Command } from "../../support/simulated-device.js";

/** Options of tests that require rooms or the device list of fleet/. */
export const ofFleet = { skip: existsSync("gateway/fleet") ? false : "fleet/ was removed" };

export interface SoundDeviceOptions extends ScriptedDeviceOptions {
	/** Default: plays the sound. */
	readonly does?: "plays" | "is silent" | "fails" | "is busy";
}

export class SoundDevice extends ScriptedDevice {
	readonly #does: SoundDeviceOptions["does"];
	/** URLs of the requested sounds. */
	readonly urls: string[] = [];

	constructor(options: SoundDeviceOptions) {
		super(options);
		this.#does = options.does;
	}

	update(id: string, state: string, more: object = {}): void {
		this.send({ type: "sound_update", deviceId: this.deviceId, id, state, ...more });
	}

	protected override onCommand(command: Command): void {
		super.onCommand(command);
		const { command: name, value } = command;
		const { id = "", url = "", ready = false } = Object(value);
		if (name === "play_sound") {
			this.urls.push(url);
			if (this.#does === "is busy") this.refuse("play_sound", "an update is under way");
			else if (this.#does === "fails") this.update(id, "failed", { reason: "404 Not Found", heard_ms: 0 });
			else if (this.#does !== "is silent") this.update(id, ready ? "ready" : "playing");
		} else if (this.#does !== "is silent" && name === "start_sound") this.update(id, "playing");
		else if (name === "stop_sound") this.update(id, "stopped", { reason: "command", heard_ms: 40 });
	}
}
