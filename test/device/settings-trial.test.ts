/**
 * Settings trials in Node: the firmware's code over the virtual host's NVS, so that power can be cut at every flash
 * operation. set-settings.test.ts runs trials of the whole firmware in XS.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import {
	type ChangedSettings,
	type InstalledSetting,
	installedSettings,
} from "../../device/protocol/messages.js";
import { eraseSettings, SettingsTrial } from "../../device/settings-trial.js";
import { type CutMoment, cutMoments, Flash, PowerCut } from "../../hosts/virtual/node/boot/flash.js";
import { loadSettings, NvsStore } from "../../hosts/virtual/node/boot/nvs-store.js";
import { flashBytes } from "../../hosts/virtual/node/boot/partitions.js";
import { clock } from "./update/timer.js";

/** Failed writes are traced. */
globalThis.trace = () => {};

const previous = {
	ssid: "previous",
	password: "previous password",
	gateway: "ws://previous:8080/device",
	token: "previous-token",
	ca: "PREVIOUS",
};
const changed: ChangedSettings = {
	ssid: "new",
	password: "",
	gateway: "wss://new/device",
	token: "new-token",
	ca: "-----BEGIN CERTIFICATE-----\nTkVX\n-----END CERTIFICATE-----\n",
	sntp: "time.new",
};
type Values = { readonly [N in InstalledSetting]?: string };
const afterwards: Values = {
	ssid: "new",
	gateway: "wss://new/device",
	token: "new-token",
	ca: "TkVX",
	sntp: "time.new",
};

/** Device with settings in its flash; start() does with them what main.ts does. */
class Bench {
	readonly flash = new Flash({ byteLength: flashBytes });
	readonly sent: unknown[] = [];
	readonly restarts: string[] = [];
	obstacle = "the gateway rejected the token (401)";
	store = new NvsStore(this);
	trial = this.#start();

	constructor() {
		loadSettings(this.flash, new Map(Object.entries({ ...previous, volume: "7" })));
		this.powerCycle();
	}

	/** Settings at the start. */
	get used(): Values {
		const values: [string, string][] = [];
		for (const name of installedSettings) {
			const value = this.trial.value(name) ?? this.store.read(name) ?? "";
			if (value !== "") values.push([name, value]);
		}
		return Object.fromEntries(values);
	}

	powerCycle(): void {
		clock.clear();
		// Only when necessary, because it would cancel a planned cut.
		if (!this.flash.isPowered) this.flash.powerOn();
		this.store = new NvsStore(this);
		this.trial = this.#start();
	}

	/** Connects the gateway and sends a report. */
	report(): void {
		this.trial.onReported();
	}

	#start(): SettingsTrial {
		const { store } = this;
		return new SettingsTrial({
			store,
			getFailureReason: () => this.obstacle,
			restart: () => this.restarts.push("restart"),
			send: (result) => {
				this.sent.push(result);
				// The socket accepts it immediately.
				this.trial.onReported();
			},
		});
	}

	get keys(): readonly string[] {
		const keys = ["trial", ...installedSettings.map((name) => `new_${name}`)];
		return keys.filter((key) => this.store.read(key) !== undefined);
	}
}

describe("new settings", () => {
	test("take effect at the restart and replace the previous ones after the first report", () => {
		const bench = new Bench();
		assert.equal(bench.trial.begin(changed), undefined);
		assert.equal(bench.trial.isOn, true);
		assert.deepEqual(bench.used, previous, "unchanged before the restart");
		bench.powerCycle();
		assert.deepEqual(bench.used, afterwards);
		assert.equal(bench.store.read("ssid"), "previous");
		clock.pass(119_000);
		bench.report();
		assert.deepEqual(bench.sent, [{ outcome: "kept" }]);
		assert.equal(bench.trial.isOn, false);
		clock.pass(10_000);
		assert.deepEqual(bench.restarts, []);
		bench.powerCycle();
		assert.deepEqual(bench.used, afterwards);
		assert.deepEqual(bench.keys, [], "nothing of the trial remains");
		bench.report();
		assert.equal(bench.sent.length, 1, "reported once");
		assert.equal(bench.store.read("volume"), "7");
	});

	test("revert when the device does not report within 120 s, with the reason", () => {
		const bench = new Bench();
		bench.trial.begin(changed);
		bench.powerCycle();
		clock.pass(119_999);
		assert.deepEqual(bench.restarts, []);
		clock.pass(1);
		assert.deepEqual(bench.restarts, ["restart"]);
		bench.powerCycle();
		assert.deepEqual(bench.used, previous);
		assert.deepEqual(bench.sent, [], "no connection");
		bench.powerCycle();
		bench.report();
		assert.deepEqual(bench.sent, [{ outcome: "returned", reason: bench.obstacle }]);
		bench.powerCycle();
		bench.report();
		assert.equal(bench.sent.length, 1);
		assert.deepEqual(bench.keys, []);
	});

	test("are tried once more for 120 s after a power cut, and not a third time", () => {
		const bench = new Bench();
		bench.trial.begin(changed);
		bench.powerCycle();
		clock.pass(119_000);
		bench.powerCycle();
		assert.deepEqual(bench.used, afterwards);
		clock.pass(119_000);
		assert.deepEqual(bench.restarts, []);
		bench.powerCycle();
		assert.deepEqual(bench.used, previous);
		bench.report();
		assert.deepEqual(bench.sent, [
			{
				outcome: "returned",
				reason: "the device restarted during the trial, and again when it was repeated",
			},
		]);
	});

	test("are rejected until the result of the previous trial has been sent", () => {
		const bench = new Bench();
		bench.trial.begin(changed);
		bench.powerCycle();
		clock.pass(120_000);
		bench.powerCycle();
		assert.equal(bench.trial.isOn, true);
		bench.report();
		assert.equal(bench.trial.isOn, false);
	});

	test("are rejected with a message that reveals none of them when flash or network cannot hold them", () => {
		for (const [change, sentence] of [
			[{ ssid: "é".repeat(17) }, "ssid must be at most 32 bytes long"],
			[{ gateway: "ws://host:70000/device" }, "gateway's port must be from 1 to 65535, not 70000"],
			[{ ca: "no certificate" }, /^ca must be a certificate in PEM/],
			[
				{ ca: `-----BEGIN CERTIFICATE-----${"AAAA".repeat(1000)}-----END CERTIFICATE-----` },
				"ca must be a certificate of at most 2997 bytes in DER",
			],
		] as const) {
			const bench = new Bench();
			const problem = bench.trial.begin({ token: "secret-token", ...change }) ?? "";
			if (typeof sentence === "string") assert.equal(problem, sentence);
			else assert.match(problem, sentence);
			assert.doesNotMatch(problem, /secret/);
			assert.deepEqual(bench.keys, []);
			assert.equal(bench.trial.isOn, false);
		}
	});

	test("are rejected when flash has no room, and leave nothing behind", () => {
		const bench = new Bench();
		for (let index = 0; index < 14; index++) bench.store.write(`filler${index}`, "x".repeat(3900));
		assert.match(
			bench.trial.begin({
				...changed,
				ca: `-----BEGIN CERTIFICATE-----${"AAAA".repeat(990)}-----END CERTIFICATE-----`,
			}) ?? "",
			/^the new settings could not be stored/,
		);
		assert.deepEqual(bench.keys, []);
		bench.powerCycle();
		assert.deepEqual(bench.used, previous);
	});
});

/** Runs an action that a power cut may interrupt. @returns whether it was interrupted */
function isCut(bench: Bench, action: () => void): boolean {
	try {
		action();
	} catch (error) {
		if (!(error instanceof PowerCut)) throw error;
	}
	return !bench.flash.isPowered;
}

interface Trial {
	readonly isRight: boolean;
	/** Whether power was already cut in its first start. */
	readonly isRepeated: boolean;
}

/**
 * Runs a trial from set_settings to its end with power cut at one operation. After each start the settings must be
 * the previous ones or the new ones, complete, and match the result once it was sent.
 *
 * @returns number of starts; undefined: there was no such operation
 */
function runWithCut(
	{ isRight, isRepeated }: Trial,
	operation: number,
	moment: CutMoment,
): number | undefined {
	const bench = new Bench();
	if (isRepeated) {
		bench.trial.begin(changed);
		bench.powerCycle();
	}
	bench.flash.cutAt(operation, moment);
	let wasCut = !isRepeated && isCut(bench, () => void bench.trial.begin(changed));
	for (let starts = 1; starts <= 6; starts++) {
		if (isCut(bench, () => bench.powerCycle())) {
			wasCut = true;
			bench.powerCycle();
		}
		const { used } = bench;
		assert.ok(
			[previous, afterwards].some((values) => isDeepStrictEqual(values, used)),
			`mixed settings: ${JSON.stringify(used)}`,
		);
		const isReached = isRight || isDeepStrictEqual(previous, used);
		if (isCut(bench, () => (isReached ? bench.report() : clock.pass(120_000)))) {
			wasCut = true;
			continue;
		}
		if (bench.sent.length === 0 && bench.trial.isOn) continue;
		if (isCut(bench, () => bench.powerCycle())) {
			wasCut = true;
			bench.powerCycle();
		}
		bench.flash.powerOn();
		const result = bench.sent.at(-1);
		if (result !== undefined)
			assert.deepEqual(bench.used, isDeepStrictEqual(result, { outcome: "kept" }) ? afterwards : previous);
		assert.equal(bench.store.read("volume"), "7");
		// The device accepts further settings, which replace no others.
		const expected = { ...bench.used, token: "third-token" };
		assert.equal(bench.trial.isOn, false);
		assert.equal(bench.trial.begin({ token: "third-token" }), undefined);
		bench.powerCycle();
		assert.deepEqual(bench.used, expected);
		bench.report();
		bench.powerCycle();
		assert.deepEqual(bench.used, expected);
		return wasCut ? starts : undefined;
	}
	throw new Error("the trial does not end");
}

for (const [name, trial] of [
	["with valid settings", { isRight: true, isRepeated: false }],
	["with invalid settings", { isRight: false, isRepeated: false }],
	["with valid settings, repeated", { isRight: true, isRepeated: true }],
	["with invalid settings, repeated", { isRight: false, isRepeated: true }],
] as const)
	test(`a trial ${name} leaves the previous or the new settings after a power cut before, during or after any flash operation`, (t) => {
		let cuts = 0;
		for (let operation = 1; ; operation++) {
			const outcomes = cutMoments.map((moment) => {
				try {
					return runWithCut(trial, operation, moment);
				} catch (error) {
					throw new Error(`${moment} ${operation}: ${error}`);
				}
			});
			if (outcomes.every((starts) => starts === undefined)) break;
			cuts += outcomes.length;
		}
		assert.ok(cuts > 20, `${cuts} cuts`);
		t.diagnostic(`${cuts} power cuts`);
	});

test("erases all provisioned settings, even when a power cut interrupts it and it is repeated", () => {
	for (let operation = 1; ; operation++) {
		const bench = new Bench();
		bench.trial.begin(changed);
		bench.powerCycle();
		bench.flash.cutAt(operation, "after");
		const wasCut = isCut(bench, () => eraseSettings(bench.store));
		bench.powerCycle();
		if (wasCut) {
			// Fewer settings than before, but no mixture of the two.
			for (const [setting, value] of Object.entries(bench.used))
				assert.equal(value, Object.entries(previous).find(([name]) => name === setting)?.[1]);
			eraseSettings(bench.store);
			bench.powerCycle();
		}
		assert.deepEqual(bench.used, {});
		assert.deepEqual(bench.keys, []);
		assert.equal(bench.store.read("volume"), undefined);
		if (!wasCut) break;
	}
});
