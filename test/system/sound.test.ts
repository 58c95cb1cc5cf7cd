/** Sounds on devices in XS, controlled and observed through a gateway. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isRecord } from "../../device/protocol/schema.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { assertSameBytes } from "../support/bytes.js";
import { Authority } from "../support/certificates.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { type FleetDevice, runFleet } from "../support/fleet.js";
import { whyMissing } from "../support/programs.js";
import type { Frame } from "../support/running.js";
import { bytesPerSecond, capture, noise, SoundServer, wav } from "../support/sounds.js";
import { yieldToSockets } from "../support/virtual-time.js";

/** sound_update relayed to monitors. */
const updateIn = (frame: Frame) => {
	const message: unknown = frame.type === "device_message" ? frame.message : undefined;
	return isRecord(message) && message.type === "sound_update" ? message : undefined;
};

test("two devices prepare, start together and play the same samples to the end; a monitor sees each step", async (t) => {
	const fleet = await runFleet(t);
	const samples = noise(3 * bytesPerSecond);
	const server = await SoundServer.run(t, { file: wav(samples) });
	const devices: (FleetDevice & { readonly captured: () => Buffer })[] = [];
	for (const serial of ["a1b2c3", "d4e5f6"]) {
		const each = await fleet.powerOn("DEV-1", { serial, clock: "virtual" });
		await each.report();
		devices.push({ ...each, captured: capture(each.device.board) });
	}
	const seen = new Map<string, unknown[]>(devices.map(({ deviceId }) => [deviceId, []]));
	const until = async (state: string) => {
		let isOver = false;
		const awaited = fleet.monitorClient.until((frame) => {
			const update = updateIn(frame);
			if (update) seen.get(String(update.deviceId))?.push(update.state);
			return [...seen.values()].every((states) => states.at(-1) === state);
		});
		const end = () => {
			isOver = true;
		};
		awaited.then(end, end);
		while (!isOver) {
			await yieldToSockets();
			await Promise.all(devices.map(({ device }) => device.machine.advance(50)));
		}
		return awaited;
	};
	const value = { id: "dinner", url: server.url, ready: true };
	for (const { control } of devices)
		assert.equal((await control({ command: "play_sound", value })).type, "ack");
	await until("ready");
	for (const { control } of devices)
		assert.equal((await control({ command: "start_sound", value: { id: "dinner" } })).type, "ack");
	await until("played");
	for (const { deviceId, device, captured } of devices) {
		assert.deepEqual(seen.get(deviceId), ["ready", "playing", "played"]);
		await device.machine.advance(100);
		assertSameBytes(captured().subarray(0, samples.length), samples, deviceId);
	}
	for (const { authorization } of server.requests)
		assert.equal(authorization, undefined, "the token is for the gateway only");
});

test("sends the device token to its own gateway only, by its address", async (t) => {
	const fleet = await runFleet(t);
	const program = await buildFirmware();
	await fleet.release("1.1.0", makeVirtualImage(program.bytes, "DEV-1", "1.1.0"));
	const { control, report } = await fleet.powerOn("DEV-1");
	await report();
	const file = "releases/virtual/dev-1/firmware-v1.1.0.bin";
	const other = fleet.url.replace("127.0.0.1", "localhost");
	assert.notEqual(other, fleet.url);
	for (const [id, url, reason] of [
		["own", `${fleet.url}/${file}`, "The file is not a WAV; it must be a WAV of 16000 Hz, mono, 16 bit PCM."],
		["other", `${other}/${file}`, "The server answered 401: it does not give the sound to this device."],
	] as const) {
		await control({ command: "play_sound", value: { id, url } });
		const frame = await fleet.monitorClient.until((each) => updateIn(each)?.id === id);
		assert.deepEqual([updateIn(frame)?.state, updateIn(frame)?.reason], ["failed", reason]);
	}
});

test("loads a sound over TLS from a server certified by the device's authority", {
	skip: whyMissing("openssl"),
}, async (t) => {
	const fleet = await runFleet(t, new Authority(await temporaryDirectory(t), "test"));
	const program = await buildFirmware();
	await fleet.release("1.1.0", makeVirtualImage(program.bytes, "DEV-1", "1.1.0"));
	const { control, report } = await fleet.powerOn("DEV-1");
	await report();
	const url = `${fleet.url}/releases/virtual/dev-1/firmware-v1.1.0.bin`;
	assert.match(url, /^https:/);
	await control({ command: "play_sound", value: { id: "secure", url } });
	const frame = await fleet.monitorClient.until((each) => updateIn(each)?.id === "secure");
	assert.equal(
		updateIn(frame)?.reason,
		"The file is not a WAV; it must be a WAV of 16000 Hz, mono, 16 bit PCM.",
	);
});
