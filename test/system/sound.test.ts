import assert from "node:assert/strict";
import { test } from "node:test";
import { isRecord } from "../../device/protocol/schema.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { Authority } from "../support/certificates.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { runFleet } from "../support/fleet.js";
import { whyMissing } from "../support/programs.js";
import type { Frame } from "../support/running.js";

/** sound_update relayed to monitors. */
const updateIn = (frame: Frame) => {
	const message: unknown = frame.type === "device_message" ? frame.message : undefined;
	return isRecord(message) && message.type === "sound_update" ? message : undefined;
};

for (const [name, skip] of [
	["its own gateway only, by its address", false],
	["its own gateway over TLS, certified by the device's authority", whyMissing("openssl")],
] as const)
	test(`sends the device token of a sound to ${name}`, { skip }, async (t) => {
		const isSecure = name.includes("TLS");
		const authority = isSecure ? new Authority(await temporaryDirectory(t), "test") : undefined;
		const fleet = await runFleet(t, authority);
		const program = await buildFirmware();
		await fleet.release("1.1.0", makeVirtualImage(program.bytes, "DEV-1", "1.1.0"));
		const { control, report } = await fleet.powerOn("DEV-1");
		await report();
		const file = "releases/virtual/dev-1/firmware-v1.1.0.bin";
		const own = "The file is not a WAV; it must be a WAV of 16000 Hz, mono, 16 bit PCM.";
		const other = "The server answered 401: it does not give the sound to this device.";
		const localhost = fleet.url.replace("127.0.0.1", "localhost");
		for (const [id, url, reason] of [
			["own", `${fleet.url}/${file}`, own],
			...(isSecure ? [] : [["other", `${localhost}/${file}`, other] as const]),
		] as const) {
			await control({ command: "play_sound", value: { id, url } });
			const frame = await fleet.monitorClient.until((frame) => updateIn(frame)?.id === id);
			assert.deepEqual([updateIn(frame)?.state, updateIn(frame)?.reason], ["failed", reason]);
		}
	});
