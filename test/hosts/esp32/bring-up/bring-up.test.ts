/** Bring-up program in XS and its steps, on boards with one fault each. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, type TestContext, test } from "node:test";
import type { Model } from "../../../../device/protocol/models.js";
import { pins as proto1 } from "../../../../hosts/proto-1/pins.js";
import { buildProgram, modulesOf } from "../../../../hosts/virtual/node/build.js";
import { firmwareModules } from "../../../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../../../hosts/virtual/node/virtual-device.js";
import { readPins } from "../../../../scripts/boards/pins.js";
import { BringUpBoard } from "../../../../scripts/bring-up/board.js";
import { changes, type StepResult, table } from "../../../../scripts/bring-up/report.js";
import { runSteps, steps } from "../../../../scripts/bring-up/run.js";
import { SimulatedPerson, WiredBoard, type Wiring, wiringOf } from "./wiring.js";

async function program() {
	const own = Object.entries(await modulesOf("hosts/esp32/bring-up"))
		.filter(([name]) => !/^(probes|main)$/.test(name))
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
}

async function start(t: TestContext, { model = "PROTO-1", wiring: changes, facts }: Try) {
	const pins = await readPins(model);
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
		onExit: ({ message }) => assert.fail(message),
	});
	t.after(() => device.close());
	await board.waitUntilReady();
	return { wired, context: { board, model, chip: "virtual", pins } as const };
}

async function bringUp(t: TestContext, options: Try) {
	const { steps = [] } = options;
	const { wired, context } = await start(t, options);
	const results = await runSteps({ ...context, person: new SimulatedPerson(wired) }, steps);
	return { results, text: table(results), changes: changes(results, context.model) };
}

function outcomes(results: readonly StepResult[]): string[] {
	return results.map(({ name, outcome }) => `${name} ${outcome}`);
}

/** Boards with one fault in each of the steps: its name, and what the step says. */
interface FaultyBoard extends Omit<Try, "steps"> {
	readonly faults: readonly (readonly [step: string, name: string, says: RegExp])[];
	/** Recommended changes; default: none. */
	readonly changes?: string;
}

const boards: readonly FaultyBoard[] = [
	{
		facts: { psramSizeMB: 0, flashSizeMB: 8 },
		wiring: {
			codec: { data: 9, clock: 8, address: 0x18 },
			ring: { count: 16, order: "GRB" },
			button: { ...proto1.button, volumeUp: 42, volumeDown: 41 },
			isMotorAlive: false,
			lightPin: 6,
			touchRise: 0,
		},
		faults: [
			["chip", "half of the flash and no PSRAM", /flash has 8 MB[\s\S]*No PSRAM detected/],
			["codec", "swapped pins", /Data and clock are swapped/],
			["ring", "16 LEDs", /drives 12 LEDs; this ring has 16/],
			[
				"buttons",
				"swapped buttons",
				/volume \+ is at GPIO 42, not at 41[\s\S]*volume − is at GPIO 41, not at 42/,
			],
			[
				"haptics",
				"a dead motor",
				/The motor does not run at 100 %\. Check the gate of its transistor at GPIO 5/,
			],
			["light", "another pin", /that at GPIO 6 does, by 2200\. The sensor is connected there/],
			["touch", "no pad", /A finger is not distinguishable from noise/],
		],
		changes: `hosts/proto-1/pins.ts:
	codec: Object.freeze({ data: 9, clock: 8 }),
	button: Object.freeze({ play: 39, mute: 40, volumeUp: 42, volumeDown: 41 }),
	ambientLight: 6,
device/protocol/models.ts: board(16, …) for PROTO-1`,
	},
	{
		wiring: {
			partitions: [],
			codec: { data: 2, clock: 1, address: 0x18 },
			ring: { count: 12, order: "RGB" },
			button: { ...proto1.button, mute: 47 },
			lightPin: -1,
			touchRise: 240,
		},
		faults: [
			["chip", "another partition table", /Partition coredump not found\. Flash the board again/],
			["codec", "other pins", /responds at GPIO 2 \(data\) and 1 \(clock\), not at 8 and 9/],
			["ring", "another color order", /this ring uses RGB/],
			["buttons", "another pin", /mute is at GPIO 47, not at 40/],
			["light", "no sensor", /neither does any other analog pin\. Check the supply/],
			[
				"touch",
				"a pad behind plastic, with a matching threshold",
				/with a finger 1.0 % above it[\s\S]*touches are not detected; half of the rise is 0.5 %/,
			],
		],
		changes: `hosts/proto-1/pins.ts:
	codec: Object.freeze({ data: 2, clock: 1 }),
	ledOrder: "RGB",
	button: Object.freeze({ play: 39, mute: 47, volumeUp: 41, volumeDown: 42 }),
	touchThreshold: 0.005,`,
	},
	{
		wiring: { codec: { data: 8, clock: 9, address: 0x19 }, ring: { count: 0, order: "GRB" } },
		faults: [
			["codec", "its other address", /address 0x19, not 0x18: its pin CE is high/],
			["ring", "no light", /No LED is lit\. Check that DIN .* GPIO 21/],
		],
		changes: "hosts/proto-1/pins.ts:\n\tcodec: Object.freeze({ data: 8, clock: 9, address: 25 }),",
	},
	{
		wiring: { codec: undefined, lowPin: 8, stuckPins: [proto1.button.play] },
		faults: [
			["codec", "a stuck data line", /No ES8311 responds[\s\S]*data line, GPIO 8, stays low/],
			["sound", "no codec", /The codec does not answer\. Run the step codec first\./],
			[
				"buttons",
				"a stuck button",
				/play, GPIO 39, reads as pressed while it is released[\s\S]*play does not pull any pin to ground/,
			],
		],
	},
	{
		wiring: { hasSpeaker: false },
		faults: [
			[
				"sound",
				"a silent amplifier",
				/No sound, although the codec responds and its clocks run\. Measure the enable pin of the amplifier, GPIO 14/,
			],
		],
	},
	{
		wiring: { clockPins: [] },
		faults: [["sound", "no master clock", /masterClock at GPIO 16 has 0 Hz instead of 4096000/]],
	},
];

// Most of the time they wait, as a person would.
describe("bring-up", { concurrency: 4 }, () => {
	test("passes a board that matches its pins.ts and changes nothing", async (t) => {
		const { results, text, changes: changed } = await bringUp(t, {});
		const failed = outcomes(results).filter((line) => !line.endsWith(" passed"));
		assert.deepEqual(failed, [], text);
		assert.equal(results.length, 8);
		assert.equal(changed, "");
	});

	test("skips parts that a DEV-1 lacks", async (t) => {
		const { results } = await bringUp(t, { model: "DEV-1", steps: ["chip", "haptics", "light", "touch"] });
		assert.deepEqual(outcomes(results), ["chip passed"]);
	});

	for (const { faults, changes: expected = "", ...board } of boards)
		test(`diagnoses ${faults.map(([step, name]) => `${step}: ${name}`).join("; ")}`, async (t) => {
			const steps = faults.map(([step]) => step);
			const { results, changes: changed } = await bringUp(t, { ...board, steps });
			const failures = steps.map((step) => `${step} failed`);
			assert.deepEqual(outcomes(results), failures);
			for (const [index, [, , says]] of faults.entries())
				assert.match(results[index]?.notes.join("\n") ?? "", says);
			assert.equal(changed, expected);
		});

	test("reports an invalid request and executes the next one", async (t) => {
		const { board } = (await start(t, {})).context;
		await assert.rejects(
			board.request("motor", { percent: 101 }),
			/motor: percent must be an integer from 0 to 100/,
		);
		assert.equal((await board.request("about", {})).model, "PROTO-1");
	});
});

test("times out on a silent board and suggests a fix", async (t) => {
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
});

test("hosts/README.md lists the open questions of each step in their order", () => {
	const readme = readFileSync(new URL("../../../../hosts/README.md", import.meta.url), "utf8");
	const [list] = readme.split("### What only a board can tell").at(-1)?.split("\n## ") ?? [];
	const listed = Array.from(list?.matchAll(/^\| `(\w+)` \|/gm) ?? [], ([, name]) => name);
	const known = steps.map(({ name }) => name);
	assert.deepEqual(listed, known);
});
