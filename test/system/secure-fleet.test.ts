/**
 * Releases for a fleet behind `wss://` with its own authority. The settings that a device needs to reconnect after an
 * update are in its flash; an image that contained them would hide that an update loses them.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Model } from "../../device/protocol/schema.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import type { Flash } from "../../hosts/virtual/node/boot/flash.js";
import { partitions, slots } from "../../hosts/virtual/node/boot/partitions.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { Authority } from "../support/certificates.js";
import { waitUntil } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { whyMissing } from "../support/programs.js";
import { deviceToken, temporaryDirectory } from "../support/running.js";

const releases = 2;
const devices: readonly (readonly [Model, serial: string])[] = [
	["DEV-1", "a1b2c3"],
	["PROTO-1", "a1b2c5"],
];

test(`a wss fleet with its own authority installs ${releases} releases in a row, and no image contains a device's settings`, {
	skip: whyMissing("openssl"),
}, async (t) => {
	const authority = new Authority(await temporaryDirectory(t), "authority");
	const fleet = await runFleet(t, authority);
	const { host } = new URL(fleet.url);
	const program = await buildFirmware();
	const own = { host, token: deviceToken, authority: authority.base64 };
	const holds = (bytes: Buffer) => Object.entries(own).filter(([, text]) => bytes.includes(text));

	let version = "1.0.0";
	/** Rejects when a boot loader starts any version but the requested one. */
	let onRollBack = (_error: Error) => {};
	const rolledBack = new Promise<never>((_, reject) => {
		onRollBack = reject;
	});
	rolledBack.catch(() => {});
	const powerOn = ([model, serial]: (typeof devices)[number]) =>
		fleet.powerOn(model, {
			serial,
			version,
			onBoot: (started) => {
				if (started.version !== version)
					onRollBack(new Error(`${serial} starts ${started.version}, not ${version}`));
			},
		});
	const started = await Promise.all(devices.map(powerOn));
	for (const { report } of started) await report();
	for (let minor = 1; minor <= releases; minor++) {
		version = `1.${minor}.0`;
		const images = (["DEV-1", "PROTO-1"] as const).map((model) =>
			makeVirtualImage(program.bytes, model, version),
		);
		for (const image of images) assert.deepEqual(holds(image), []);
		await fleet.release(version, ...images);
		for (const { deviceId } of started) {
			const answer = await fleet.monitorClient.request({ type: "trigger_ota", targetId: deviceId, version });
			assert.equal(answer.type, "ack", JSON.stringify(answer));
		}
		const deviceIds = started.map(({ deviceId }) => deviceId);
		const ends = await Promise.race([fleet.updateResults(deviceIds), rolledBack]);
		assert.deepEqual(
			ends.map(({ otaStatus }) => otaStatus),
			started.map(() => "updated"),
			version,
		);
		for (const { device } of started) {
			assert.equal(device.started.version, version);
			// It is confirmed once its report has left; the gateway may have received that before.
			await waitUntil(() => !device.isPendingVerify);
		}
	}
	for (const { device } of started) {
		const read = ({ flash }: { flash: Flash }, { offset, byteLength }: (typeof slots)[0]) =>
			flash.read(offset, byteLength);
		for (const slot of slots) assert.deepEqual(holds(read(device, slot)), []);
		assert.equal(holds(read(device, partitions.nvs)).length, 3, "they are in its settings");
	}
});
