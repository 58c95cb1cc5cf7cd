/** Queued announcements across lost links and restarts of the gateway or the device. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Announcement } from "../../gateway/api/announcement.js";
import type { SessionRecord } from "../../gateway/api/session.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { call } from "../support/call.js";
import { onEnd } from "../support/cleanup.js";
import { waitUntil } from "../support/eventually.js";
import { FaultyLink } from "../support/faulty-link.js";
import { deviceToken, runGateway, temporaryDirectory } from "../support/running.js";
import { bytesPerSecond, capture, noise, wav } from "../support/sounds.js";
import { yieldToSockets } from "../support/virtual-time.js";

const names = ["first", "second", "third", "fourth", "fifth"] as const;
type Name = (typeof names)[number];

/** One second, which a device buffers before it starts. */
const samplesOf = (name: Name) => noise(bytesPerSecond, 1 + names.indexOf(name));

/**
 * Runs a gateway and a device with one announcement paused by hand, one queued on the device, and one at the gateway.
 */
async function run(t: TestContext) {
	const dataDir = await temporaryDirectory(t);
	for (const name of names) await writeFile(join(dataDir, `${name}.wav`), wav(samplesOf(name)));
	const voice = join(dataDir, "voice");
	await writeFile(voice, `#!/bin/sh\ncat "${dataDir}/$(cat).wav"\n`, { mode: 0o755 });
	const environment = { SPEECH_COMMAND: voice };
	let { gateway, url } = await runGateway(t, { dataDir, environment });
	const port = Number(new URL(url).port);
	const link = await FaultyLink.to(t, port);
	let trace = "";
	const device = await VirtualDevice.start({
		model: "DEV-1",
		serial: "a1b2c3",
		clock: "virtual",
		onTrace: (text) => {
			trace += text;
		},
		settings: { gateway: `ws://127.0.0.1:${link.port}/device`, token: deviceToken },
	});
	onEnd(t, () => device.close());
	const captured = capture(device.board);

	const ids = new Map<Name, string>();
	const announce = async (name: Name) => {
		const announcement = { text: name, targets: { devices: [device.deviceId] } };
		ids.set(name, (await call<{ id: string }>(url, "POST", "announcements", announcement)).id);
	};
	const stateOf = async (name: Name) =>
		(await call<Announcement>(url, "GET", `announcements/${ids.get(name)}`)).devices[0]?.state;
	/** Advances the device's clock until then, across its restarts. */
	const until = (predicate: () => Promise<boolean>) =>
		waitUntil(predicate, async () => {
			await yieldToSockets();
			await device.machine.advance(50).catch(() => {});
		});
	const becomes = (name: Name, state: string) =>
		until(async () => {
			const found = await stateOf(name);
			assert.doesNotMatch(String(found), /failed|busy|expired/, name);
			return found === state;
		});
	const isConnected = async () => {
		const { devices } = await call<{ devices: SessionRecord[] }>(url, "GET", "devices");
		return devices[0]?.connected === true;
	};
	/** Waits for messages to reach the device. */
	const pass = async () => {
		for (let round = 0; round < 10; round++) {
			await yieldToSockets();
			await device.machine.advance(50);
		}
	};
	const press = async () => {
		for (const isPressed of [true, false]) {
			device.board.setButton("play", isPressed);
			await device.machine.advance(50);
		}
	};

	await until(isConnected);
	await announce("first");
	await until(async () => trace.includes(": playing"));
	await press();
	await becomes("first", "playing");
	for (const name of ["second", "third"] as const) {
		await announce(name);
		await becomes(name, "waiting");
	}
	return {
		device,
		disconnect: () => link.route(undefined),
		reconnect: () => link.route(port),
		announce,
		stateOf,
		until,
		becomes,
		isConnected,
		pass,
		press,
		restartGateway: async () => {
			await gateway.close();
			({ gateway, url } = await runGateway(t, { dataDir, environment, port }));
		},
		/** Number of times the second half of each announcement was heard; one was paused in its first half. */
		heard: async () => {
			// The samples leave the output a little later.
			await device.machine.advance(500);
			const all = captured().toString("latin1");
			const [from, to] = [0.5 * bytesPerSecond, 0.9 * bytesPerSecond];
			const parts = names.map((name) => samplesOf(name).subarray(from, to).toString("latin1"));
			return parts.map((part) => all.split(part).length - 1);
		},
	};
}

test("plays queued announcements on the device once after a lost link, ends the others, and plays later ones", async (t) => {
	const { disconnect, reconnect, ...rest } = await run(t);
	const { announce, stateOf, until, becomes, isConnected, pass, press, heard } = rest;
	disconnect();
	for (const name of ["first", "second", "third"] as const) await becomes(name, "away");
	reconnect();
	await until(isConnected);
	await announce("fourth");
	await announce("fifth");
	for (const name of ["fourth", "fifth"] as const) await becomes(name, "waiting");
	await pass();
	await press();
	for (const name of ["first", "second", "fourth", "fifth"] as const) await becomes(name, "played");
	assert.equal(await stateOf("third"), "away");
	assert.deepEqual(await heard(), [1, 1, 0, 1, 1]);
});

test("plays queued announcements on the device once after a gateway restart, and plays later ones", async (t) => {
	const { announce, until, becomes, isConnected, pass, press, restartGateway, heard } = await run(t);
	await restartGateway();
	await until(isConnected);
	await announce("fourth");
	await announce("fifth");
	for (const name of ["fourth", "fifth"] as const) await becomes(name, "waiting");
	await pass();
	await press();
	for (const name of ["fourth", "fifth"] as const) await becomes(name, "played");
	assert.deepEqual(await heard(), [1, 1, 0, 1, 1]);
});

test("ends the announcements of a device that restarted, and plays later ones", async (t) => {
	const { device, announce, stateOf, until, becomes, isConnected, heard } = await run(t);
	await device.powerCycle();
	for (const name of ["first", "second", "third"] as const) await becomes(name, "away");
	await until(isConnected);
	await announce("fourth");
	await announce("fifth");
	for (const name of ["fourth", "fifth"] as const) await becomes(name, "played");
	for (const name of ["first", "second", "third"] as const) assert.equal(await stateOf(name), "away");
	assert.deepEqual(await heard(), [0, 0, 0, 1, 1]);
});
