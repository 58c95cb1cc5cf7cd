/** Bring-up program in XS and its steps, on boards with one fault each. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Model } from "../../../../device/protocol/models.js";
import { pins as proto1 } from "../../../../hosts/proto-1/pins.js";
import { buildProgram, modulesOf } from "../../../../hosts/virtual/node/build.js";
import { firmwareModules } from "../../../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../../../hosts/virtual/node/virtual-device.js";
import { BringUpBoard } from "../../../../scripts/bring-up/board.js";
import { changes, type StepResult, table } from "../../../../scripts/bring-up/report.js";
import { runSteps } from "../../../../scripts/bring-up/run.js";
import { readPins, targets } from "../../../../scripts/bring-up/targets.js";
import { deviceToken, runGateway } from "../../../support/running.js";
import { SimulatedPerson, WiredBoard, type Wiring, wiringOf } from "./wiring.js";

async function program() {
	const own = Object.entries(await modulesOf("hosts/esp32/bring-up"))
		.filter(([name]) => !/^(board|native)-probes$|^main$/.test(name))
		.map(([name, file]) => [`bring-up/${name}`, file]);
	const modules = {
		...(await firmwareModules()),
		...Object.fromEntries(own),
		"bring-up/probes": "test/hosts/esp32/bring-up/xs/probes.ts",
		main: "hosts/esp32/bring-up/main.ts",
	};
	return buildProgram({ modules, main: "virtual/boot" });
}

interface Try {
	readonly model?: Model;
	/** Default: all. */
	readonly steps?: readonly string[];
	/** Differences from the board that the firmware expects. */
	readonly wiring?: Partial<Wiring>;
	readonly facts?: Readonly<Record<string, number>>;
	readonly typed?: Readonly<Record<string, string>>;
}

async function start(t: TestContext, { model = "PROTO-1", wiring: changes, facts }: Try) {
	const found = targets.find((target) => target.model === model);
	assert.ok(found, `no target for ${model}`);
	const target = { ...found, chip: "virtual" } as const;
	const pins = await readPins(target);
	const wiring = { ...wiringOf(pins), ...changes };
	const wired = new WiredBoard(pins, wiring);
	const board = new BringUpBoard({ line: wired, onLog: () => {} });
	let rest = "";
	const device = await VirtualDevice.start({
		model,
		serial: "a1b2c3",
		settings: {},
		program: await program(),
		onOpen: wired.open,
		...(facts && { facts }),
		onTrace: (text) => {
			const lines = (rest + text).split("\n");
			rest = lines.pop() ?? "";
			for (const line of lines) board.receive(line);
		},
		onExit: ({ message }) => board.end(message),
	});
	t.after(() => device.close());
	await board.waitUntilReady();
	return { board, wired, target, pins };
}

async function bringUp(t: TestContext, given: Try) {
	const { model = "PROTO-1", steps = [], typed } = given;
	const { board, wired, target, pins } = await start(t, given);
	const person = new SimulatedPerson(wired, typed);
	const results = await runSteps({ board, person, target, model, pins }, steps, () => {});
	return { results, text: table(results), changes: changes(results, target.host) };
}

function outcomes(results: readonly StepResult[]): string[] {
	return results.map(({ name, outcome }) => `${name} ${outcome}`);
}

interface Fault extends Try {
	readonly name: string;
	readonly says: RegExp;
	/** Recommended change; default: none. */
	readonly changes?: string;
}

const faults: readonly Fault[] = [
	{
		name: "a module without PSRAM and with half of the flash",
		steps: ["chip"],
		facts: { psramSizeMB: 0, flashSizeMB: 8 },
		says: /flash has 8 MB[\s\S]*No PSRAM detected/,
	},
	{
		name: "a flash with another partition table",
		steps: ["chip"],
		wiring: { partitions: [] },
		says: /Partition coredump not found\. Flash the board again/,
	},
	{
		name: "swapped pins of the codec",
		steps: ["codec"],
		wiring: { codec: { data: 9, clock: 8, address: 0x18 } },
		says: /Data and clock are swapped/,
		changes: "hosts/proto-1/pins.ts:\n\tcodec: Object.freeze({ data: 9, clock: 8 }),",
	},
	{
		name: "a codec at other pins",
		steps: ["codec"],
		wiring: { codec: { data: 2, clock: 1, address: 0x18 } },
		says: /responds at GPIO 2 \(data\) and 1 \(clock\), not at 8 and 9/,
		changes: "hosts/proto-1/pins.ts:\n\tcodec: Object.freeze({ data: 2, clock: 1 }),",
	},
	{
		name: "a codec at its other address",
		steps: ["codec"],
		wiring: { codec: { data: 8, clock: 9, address: 0x19 } },
		says: /address 0x19, not 0x18: its pin CE is high/,
		changes: "hosts/proto-1/pins.ts:\n\tcodec: Object.freeze({ data: 8, clock: 9, address: 25 }),",
	},
	{
		name: "a stuck data line without a codec",
		steps: ["codec", "sound"],
		wiring: { codec: undefined, lowPin: 8 },
		says: /No ES8311 responds[\s\S]*data line, GPIO 8, stays low[\s\S]*Playback failed: the codec does not answer/,
	},
	{
		name: "a silent amplifier",
		steps: ["sound"],
		wiring: { hasSpeaker: false },
		says: /No sound, although the codec responds and its clocks run\. Measure the enable pin of the amplifier, GPIO 14/,
	},
	{
		name: "a master clock that does not reach its pin",
		steps: ["sound"],
		wiring: { clockPins: [] },
		says: /masterClock at GPIO 16 has 0 Hz instead of 4096000/,
	},
	{
		name: "a ring of 16 LEDs",
		steps: ["ring"],
		wiring: { ring: { count: 16, order: "GRB" } },
		says: /drives 12 LEDs; this ring has 16/,
		changes: "device/protocol/models.ts: board(16, …) for PROTO-1",
	},
	{
		name: "a ring with another color order",
		steps: ["ring"],
		wiring: { ring: { count: 12, order: "RGB" } },
		says: /this ring uses RGB/,
		changes: 'hosts/proto-1/pins.ts:\n\tledOrder: "RGB",',
	},
	{
		name: "a dark ring",
		steps: ["ring"],
		wiring: { ring: { count: 0, order: "GRB" } },
		says: /No LED is lit\. Check that DIN .* GPIO 21/,
	},
	{
		name: "swapped buttons",
		steps: ["buttons"],
		wiring: { button: { ...proto1.button, volumeUp: 42, volumeDown: 41 } },
		says: /volume \+ is at GPIO 42, not at 41[\s\S]*volume − is at GPIO 41, not at 42/,
		changes:
			"hosts/proto-1/pins.ts:\n\tbutton: Object.freeze({ play: 39, mute: 40, volumeUp: 42, volumeDown: 41 }),",
	},
	{
		name: "a button at another pin",
		steps: ["buttons"],
		wiring: { button: { ...proto1.button, mute: 47 } },
		says: /mute is at GPIO 47, not at 40/,
		changes:
			"hosts/proto-1/pins.ts:\n\tbutton: Object.freeze({ play: 39, mute: 47, volumeUp: 41, volumeDown: 42 }),",
	},
	{
		name: "a stuck button",
		steps: ["buttons"],
		wiring: { stuckPins: [proto1.button.play] },
		says: /play, GPIO 39, reads as pressed while it is released[\s\S]*play does not pull any pin to ground/,
	},
	{
		name: "a dead motor",
		steps: ["haptics"],
		wiring: { isMotorAlive: false },
		says: /The motor does not run at 100 %\. Check the gate of its transistor at GPIO 5/,
	},
	{
		name: "a light sensor at another pin",
		steps: ["light"],
		wiring: { lightPin: 6 },
		says: /that at GPIO 6 does, by 2200\. The sensor is connected there/,
		changes: "hosts/proto-1/pins.ts:\n\tambientLight: 6,",
	},
	{
		name: "a missing light sensor",
		steps: ["light"],
		wiring: { lightPin: -1 },
		says: /neither does any other analog pin\. Check the supply/,
	},
	{
		name: "a touch pad that is not connected",
		steps: ["touch"],
		wiring: { touchRise: 0 },
		says: /A finger is not distinguishable from noise/,
	},
	{
		name: "a touch pad behind plastic, with a matching threshold",
		steps: ["touch"],
		wiring: { touchRise: 240 },
		says: /with a finger 1.0 % above it[\s\S]*touches are not detected; half of the rise is 0.5 %/,
		changes: "hosts/proto-1/pins.ts:\n\ttouchThreshold: 0.005,",
	},
];

// Most of the time they wait, as a person would.
describe("bring-up", { concurrency: 4 }, () => {
	test("passes a board that matches its pins.ts and changes nothing", async (t) => {
		const { results, text, changes: changed } = await bringUp(t, {});
		assert.deepEqual(
			outcomes(results).filter((line) => !line.endsWith(" passed")),
			[],
			text,
		);
		assert.equal(results.length, 10);
		assert.equal(changed, "");
	});

	test("skips parts that a DEV-1 lacks", async (t) => {
		const { results } = await bringUp(t, { model: "DEV-1", steps: ["chip", "haptics", "light", "touch"] });
		assert.deepEqual(outcomes(results), ["chip passed"]);
	});

	for (const fault of faults)
		test(`diagnoses ${fault.name}`, async (t) => {
			const { results, text, changes: changed } = await bringUp(t, fault);
			assert.deepEqual(
				outcomes(results),
				fault.steps?.map((step) => `${step} failed`),
			);
			assert.match(text, fault.says);
			assert.equal(changed, fault.changes ?? "");
		});

	test("reports the step at which the connection to the gateway fails", async (t) => {
		const { url } = await runGateway(t);
		const address = `${url.replace("http", "ws")}/device`;
		const typed = { "Name of the network": "home", Password: "long enough" };
		const tryWith = async (others: Readonly<Record<string, string>>) => {
			const { text } = await bringUp(t, {
				model: "DEV-1",
				steps: ["network"],
				typed: { ...typed, ...others },
			});
			return text;
		};
		assert.match(
			await tryWith({ "Name of the network": "elsewhere" }),
			/elsewhere: no access point with this name in range/,
		);
		assert.match(
			await tryWith({ Password: "wrong password" }),
			/home: the access point rejected the password/,
		);
		assert.match(await tryWith({ "Address of the gateway": "http://example" }), /gateway must be ws:/);
		assert.match(
			await tryWith({ "Address of the gateway": address, "Device token": "w".repeat(32) }),
			/rejected the token \(401\)/,
		);
		assert.match(await tryWith({ "Address of the gateway": address, "Device token": deviceToken }), /^✔/);
	});

	test("reports an invalid request and executes the next one", async (t) => {
		const { board } = await start(t, {});
		await assert.rejects(
			board.request("motor", { percent: 101 }),
			/motor: percent must be an integer from 0 to 100/,
		);
		assert.equal((await board.request("about", {})).model, "PROTO-1");
	});
});

test("times out on a silent board or a closed port and suggests a fix", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const board = new BringUpBoard({ line: { write: () => {} }, onLog: () => {} });
	const silent = assert.rejects(
		board.waitUntilReady(),
		/does not respond on the serial port\. Press the reset button/,
	);
	for (let waitedMs = 0; waitedMs < 30_000; waitedMs += 2_000) {
		t.mock.timers.tick(2_000);
		await new Promise(setImmediate);
	}
	await silent;
	const asked = assert.rejects(board.request("about", {}), /QEMU ended with 1/);
	board.end("QEMU ended with 1");
	await asked;
	await assert.rejects(board.nextStart(), /QEMU ended with 1/);
});
