/** Gateway with devices that play sounds as the firmware does, without a speaker. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { sha256Of } from "../../support/bytes.js";
import { eventually, waitUntil } from "../../support/eventually.js";
import { needs } from "../../support/extensions.js";
import { bearer, deviceToken, monitorToken, type RunOptions, runGateway } from "../../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../../support/scripted-device.js";
import type { Command } from "../../support/simulated-device.js";
import { tone, wav as wavOf } from "../../support/sounds.js";

/** Options of tests that require rooms or the device list of fleet/. */
export const ofFleet = needs("fleet");

/** Sound of half a second. */
export const wav = wavOf(tone(16_000));
export const sha256 = sha256Of(wav);

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
			if (this.#does === "is busy") this.reject("play_sound", "an update is under way");
			else if (this.#does === "fails") this.update(id, "failed", { reason: "404 Not Found", heard_ms: 0 });
			else if (this.#does !== "is silent") this.update(id, ready ? "ready" : "playing");
		} else if (this.#does !== "is silent" && name === "start_sound") this.update(id, "playing");
		else if (name === "stop_sound") this.update(id, "stopped", { reason: "command", heard_ms: 40 });
	}
}

export async function run(t: TestContext, options: RunOptions = {}) {
	const gateway = await runGateway(t, options);
	const { url, api: call } = gateway;
	/** Connects a device, and resolves once the gateway has its report. */
	const device = async (serial: string, more: Partial<SoundDeviceOptions> = {}) => {
		const monitor = await gateway.monitor();
		const made = new SoundDevice({ url, deviceId: `dev-1-00000${serial}`, ...more });
		t.after(() => made.close());
		await made.connect();
		await monitor.until(
			({ type, sessions }) =>
				type === "status_update" && sessions[0]?.deviceId === made.deviceId && sessions[0].state !== null,
		);
		return made;
	};
	/** @returns the id of an announcement */
	const announce = async (asked: object, token = monitorToken) => {
		const { status, body } = await call("POST", "/api/announcements", asked, token);
		assert.equal(status, 202, JSON.stringify(body));
		return String(body.id);
	};
	const shown = async (id: string) => (await call("GET", `/api/announcements/${id}`)).body;
	/** Resolves after the end of an announcement. */
	const ended = async (id: string) => {
		await waitUntil(async () => (await shown(id)).endedAt !== null);
		return shown(id);
	};
	/** Resolves once the first device of an announcement is in this state. */
	const becomes = async (id: string, state: string) => {
		const first = async () => (await shown(id)).devices[0];
		return eventually(first, (part) => part.state === state);
	};
	const upload = (name = "Dinner") => call("POST", `/api/sounds?name=${encodeURIComponent(name)}`, wav);
	const sounds = async () => (await call("GET", "/api/sounds")).body.sounds;
	/** Loads a sound as a device does. */
	const load = async (path = `/sounds/${sha256}.wav`, headers = {}) => {
		const response = await fetch(new URL(path, url), { headers: { ...bearer(deviceToken), ...headers } });
		return Object.assign(response, { content: Buffer.from(await response.arrayBuffer()) });
	};
	return { ...gateway, call, device, announce, shown, ended, becomes, upload, sounds, load };
}
