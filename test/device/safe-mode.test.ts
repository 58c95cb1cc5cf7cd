import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type TestContext, test } from "node:test";
import type { Model } from "../../device/protocol/schema.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { Flash, type FlashOperation } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes, partitions } from "../../hosts/virtual/node/boot/partitions.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice, type VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { onEnd } from "../support/cleanup.js";
import { waitUntil } from "../support/eventually.js";
import { listen } from "../support/ports.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";
import { pass, passUntil } from "../support/virtual-time.js";

/** Address without a server. */
const nowhere = "ws://127.0.0.1:1/device";

test("starts a confirmed image that crashes at each start in safe mode, and updates it from there", async (t) => {
	const gateway = await runScriptedGateway(t);
	const program = await buildFirmware({
		"peripherals/haptics": "test/hosts/virtual/xs/firmware/crashing-motor.ts",
	});
	const good = makeVirtualImage((await buildFirmware()).bytes, "PROTO-1", "2.0.0");
	const url = await serve(t, good);
	const starts: string[] = [];
	const device = await VirtualDevice.start({
		model: "PROTO-1",
		serial: "a1b2c3",
		clock: "virtual",
		program,
		version: "1.0.0",
		settings: { gateway: gateway.url, token: "t" },
		// It crashes before it is connected, even on a fast computer.
		accessPoint: undefined,
		onBoot: ({ version }) => starts.push(version),
		restartsAfterCrash: true,
	});
	onEnd(t, () => device.close());

	await waitUntil(
		() => starts.length >= 4,
		() => pass(device, 1000).catch(() => {}),
	);
	device.board.accessPoint = { ssid: "virtual", rssi: -50 };
	const connection = await passUntil(device, gateway.connection());
	const report = await connection.next("state_report");
	assert.equal(starts.length, 4, "three crashes before safe mode");
	assert.equal(report.health.safe_mode, true);
	const { audio, haptic_intensity, touch_active } = report.peripherals;
	assert.deepEqual([audio.player_state, haptic_intensity, touch_active], ["idle", 0, false]);
	for (const command of [
		{ command: "set_volume", value: 20 },
		{ command: "play_audio", value: "startup" },
		{ command: "set_haptics", value: 20 },
	]) {
		connection.send(command);
		const { code, message } = await connection.next("command_error");
		assert.equal(code, "busy");
		assert.match(message, /safe mode/);
	}
	connection.send({ command: "start_ota", url });
	const again = await passUntil(device, gateway.connection());
	const { system, health } = await again.next("state_report");
	assert.deepEqual([system.firmware_version, health.safe_mode], ["2.0.0", undefined]);
	assert.equal(device.board.sound.length, 0);
});

async function serve(t: TestContext, image: Buffer): Promise<string> {
	const server = createServer((_request, response) =>
		response.writeHead(200, { "Content-Length": image.length }).end(image),
	);
	return `http://127.0.0.1:${await listen(t, server)}/firmware.bin`;
}

type End = "crash" | "brown-out" | "power cut";
type Run = readonly [ms: number, end: End];

/** Runs a device without a network and ends each run as given. @returns whether the last start was in safe mode */
async function isSafeAfter(t: TestContext, runs: readonly Run[]): Promise<boolean> {
	const gateway = await runScriptedGateway(t);
	let startCount = 0;
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		program: await buildFirmware({ rules: "test/hosts/virtual/xs/firmware/crashing-rules.ts" }),
		accessPoint: undefined,
		restartsAfterCrash: true,
		onBoot: () => {
			startCount += 1;
		},
	});
	const crash = async () => {
		const before = startCount;
		device.board.setButton("play", true);
		await waitUntil(
			() => startCount !== before,
			() => pass(device, 1).catch(() => {}),
		);
		device.board.setButton("play", false);
	};
	for (const [ms, end] of runs) {
		await pass(device, ms);
		if (end === "power cut") await device.powerCycle();
		if (end === "brown-out") await device.brownOut();
		if (end === "crash") await crash();
	}
	device.board.accessPoint = { ssid: "virtual", rssi: -50 };
	const connection = await passUntil(device, gateway.connection());
	const { health } = await connection.next("state_report");
	await device.close();
	return health.safe_mode === true;
}

async function startAlone(t: TestContext, model: Model, options: Partial<VirtualDeviceOptions> = {}) {
	return powerOn(t, { url: nowhere }, model, { clock: "virtual", ...options });
}

const runs = (end: End, ...ms: number[]) => ms.map((each): Run => [each, end]);

test("requires three successive starts that crash within 60 s", async (t) => {
	for (const [ms, isSafe] of [
		[[58_000, 60_000, 58_000, 58_000], false],
		[[58_000, 60_000, 58_000, 58_000, 58_000], true],
		[[10, 10, 10, 60_000], false],
		[[10, 10, 10, 10], true],
	] as const)
		assert.equal(await isSafeAfter(t, runs("crash", ...ms)), isSafe, `${ms}`);
});

test("neither starts nor ends after a power cut, however early", async (t) => {
	const crashes = runs("crash", 10, 10, 10);
	const cuts = runs("power cut", 10, 10);
	assert.equal(await isSafeAfter(t, [...cuts, ...crashes.slice(1)]), false);
	assert.equal(await isSafeAfter(t, [...crashes.slice(1), ...cuts]), false);
	assert.equal(await isSafeAfter(t, [...crashes.slice(1), ...cuts, ...crashes.slice(2)]), true);
	assert.equal(await isSafeAfter(t, [...crashes, ...cuts]), true);
});

test("counts a brownout as a crash: the speaker or the motor may cause it", async (t) => {
	assert.equal(await isSafeAfter(t, runs("brown-out", 10, 10, 10)), true);
});

test("counts no restart by the firmware as a crash, such as erasing the settings four times within 60 s", async (t) => {
	const gateway = await runScriptedGateway(t);
	const starts: string[] = [];
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		accessPoint: undefined,
		onBoot: ({ resetReason }) => starts.push(resetReason),
	});
	for (const count of [2, 3, 4, 5]) {
		for (const name of ["play", "mute"] as const) device.board.setButton(name, true);
		await waitUntil(
			() => starts.length >= count,
			() => pass(device, 1000).catch(() => {}),
		);
		for (const name of ["play", "mute"] as const) device.board.setButton(name, false);
		await pass(device, 100);
	}
	assert.equal(starts.at(-1), "SW_RESET");
	device.board.setButton("play", true);
	await pass(device, 20);
	assert.equal(device.board.isSounding, true);
});

test("does not count a start that reaches the gateway, however short", async (t) => {
	const gateway = await runScriptedGateway(t);
	const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
	for (let start = 0; start < 6; start++) {
		const { health } = await (await gateway.connection()).next("state_report");
		assert.equal(health.safe_mode, undefined);
		await device.powerCycle();
	}
});

test("writes at most twice to flash per start, and not at all while safe mode lasts", async (t) => {
	const writes: FlashOperation[] = [];
	const flash = new Flash({
		byteLength: flashBytes,
		onOperation: (operation) => {
			const { offset, byteLength } = partitions.nvs;
			if (operation.offset >= offset && operation.offset < offset + byteLength) writes.push(operation);
		},
	});
	const device = await startAlone(t, "DEV-1", { flash });
	const countOf = async (ms: number) => {
		await pass(device, ms);
		const values = device.setting("starts");
		const count = writes.length;
		writes.length = 0;
		return { values, count };
	};
	const short = await countOf(59_000);
	assert.equal(short.values, "1");
	const long = await countOf(1000);
	assert.equal(long.values, undefined);
	assert.notEqual(long.count, 0);
	assert.equal((await countOf(600_000)).count, 0);
	for (let start = 0; start < 4; start++) {
		await device.brownOut();
		await pass(device, 100);
	}
	writes.length = 0;
	await device.brownOut();
	assert.deepEqual(await countOf(59_000), { values: "4", count: 0 });
	await device.powerCycle();
	assert.deepEqual(await countOf(59_000), { values: "4", count: 0 });
	await device.close();
});
