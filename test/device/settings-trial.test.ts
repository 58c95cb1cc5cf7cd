/**
 * Trials of new settings in Node: the firmware's own code over the virtual host's NVS, so that power can be cut at every flash
 * operation. test/system/settings.long.test.ts does the same with the whole firmware in XS.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
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

/** A device with settings in its flash; start() is what main.ts does with them. */
class Bench {
	readonly flash = new Flash({ byteLength: flashBytes });
	readonly sent: unknown[] = [];
	readonly restarts: string[] = [];
	obstacle = "the gateway refused the token (401)";
	store = new NvsStore(this);
	trial = this.#start();

	constructor() {
		loadSettings(this.flash, new Map(Object.entries({ ...previous, volume: "7" })));
		this.powerCycle();
	}

	/** What the device starts with. */
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
		// Not always: it would cancel a planned cut.
		if (!this.flash.isPowered) this.flash.powerOn();
		this.store = new NvsStore(this);
		this.trial = this.#start();
	}

	/** The gateway is connected, and a report is sent. */
	report(): void {
		this.trial.onDrained();
	}

	#start(): SettingsTrial {
		const { store } = this;
		return new SettingsTrial({
			store,
			findObstacle: () => this.obstacle,
			restart: () => this.restarts.push("restart"),
			log: () => {},
			send: (result) => {
				this.sent.push(result);
				// The socket takes it at once.
				this.trial.onDrained();
			},
		});
	}

	get keys(): readonly string[] {
		const keys = ["trial", ...installedSettings.map((name) => `new_${name}`)];
		return keys.filter((key) => this.store.read(key) !== undefined);
	}
}

describe("new settings", () => {
	test("count from the restart on, and replace the previous ones when the device has reported", () => {
		const bench = new Bench();
		assert.equal(bench.trial.begin(changed), undefined);
		assert.equal(bench.trial.isOn, true);
		assert.deepEqual(bench.used, previous, "not before the restart");
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
		assert.deepEqual(bench.keys, [], "nothing of the trial is left");
		bench.report();
		assert.equal(bench.sent.length, 1, "reported once");
		assert.equal(bench.store.read("volume"), "7");
	});

	test("that are not given stay as they are", () => {
		const bench = new Bench();
		assert.equal(bench.trial.begin({ token: "new-token" }), undefined);
		bench.powerCycle();
		assert.deepEqual(bench.used, { ...previous, token: "new-token" });
		bench.report();
		bench.powerCycle();
		assert.deepEqual(bench.used, { ...previous, token: "new-token" });
	});

	test("with which the device does not report within 120 s give way to the previous ones, and it says why", () => {
		const bench = new Bench();
		bench.trial.begin(changed);
		bench.powerCycle();
		clock.pass(119_999);
		assert.deepEqual(bench.restarts, []);
		clock.pass(1);
		assert.deepEqual(bench.restarts, ["restart"]);
		bench.powerCycle();
		assert.deepEqual(bench.used, previous);
		assert.deepEqual(bench.sent, [], "there was no connection");
		bench.powerCycle();
		bench.report();
		assert.deepEqual(bench.sent, [{ outcome: "returned", reason: bench.obstacle }]);
		bench.powerCycle();
		bench.report();
		assert.equal(bench.sent.length, 1);
		assert.deepEqual(bench.keys, []);
	});

	test("that a power cut interrupts are tried once more, for 120 s, and no third time", () => {
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
				reason: "the device restarted in the middle of the trial, and again when it was repeated",
			},
		]);
	});

	test("of an earlier attempt do not get into the next one", () => {
		const bench = new Bench();
		bench.flash.cutAt(3, "after");
		// Power goes while they are stored, before they count.
		bench.trial.begin(changed);
		bench.powerCycle();
		assert.deepEqual(bench.used, previous);
		bench.trial.begin({ token: "new-token" });
		bench.powerCycle();
		assert.deepEqual(bench.used, { ...previous, token: "new-token" });
	});

	test("whose result is not sent yet keep others from being tried", () => {
		const bench = new Bench();
		bench.trial.begin(changed);
		bench.powerCycle();
		clock.pass(120_000);
		bench.powerCycle();
		assert.equal(bench.trial.isOn, true);
		bench.report();
		assert.equal(bench.trial.isOn, false);
	});

	test("that no flash or no network can hold are refused in a sentence that shows none of them", () => {
		for (const [given, sentence] of [
			[{ ssid: "é".repeat(17) }, "ssid must be at most 32 bytes long"],
			[{ gateway: "ws://host:70000/device" }, "gateway's port must be from 1 to 65535, not 70000"],
			[{ ca: "no certificate" }, /^ca must be a certificate in PEM/],
			[
				{ ca: `-----BEGIN CERTIFICATE-----${"AAAA".repeat(1000)}-----END CERTIFICATE-----` },
				"ca must be a certificate of at most 2997 bytes in DER",
			],
		] as const) {
			const bench = new Bench();
			const problem = bench.trial.begin({ token: "secret-token", ...given }) ?? "";
			if (typeof sentence === "string") assert.equal(problem, sentence);
			else assert.match(problem, sentence);
			assert.doesNotMatch(problem, /secret/);
			assert.deepEqual(bench.keys, []);
			assert.equal(bench.trial.isOn, false);
		}
	});

	test("for which flash has no room are refused, and leave nothing behind", () => {
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

/** Runs an action in which power may go. @returns whether it went */
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
	/** Power was cut before, in its first start. */
	readonly isRepeated: boolean;
}

/**
 * From set_settings to the end of the trial, with power cut at one operation. After each start the settings must be the previous
 * ones or the new ones, whole, and once a result was sent they must be what it said.
 *
 * @returns how many starts it took; undefined: there was no such operation
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
			[previous, afterwards].some((values) => isSame(values, used)),
			`a mixture: ${JSON.stringify(used)}`,
		);
		const isReached = isRight || isSame(previous, used);
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
			assert.deepEqual(bench.used, isSame(result, { outcome: "kept" }) ? afterwards : previous);
		assert.equal(bench.store.read("volume"), "7");
		// The device takes further settings.
		assert.equal(bench.trial.isOn, false);
		assert.equal(bench.trial.begin({ token: "third-token" }), undefined);
		bench.powerCycle();
		assert.equal(bench.used.token, "third-token");
		return wasCut ? starts : undefined;
	}
	throw new Error("the trial does not end");
}

function isSame(one: unknown, other: unknown): boolean {
	try {
		assert.deepEqual(one, other);
		return true;
	} catch {
		return false;
	}
}

for (const [name, trial] of [
	["that are right", { isRight: true, isRepeated: false }],
	["that are wrong", { isRight: false, isRepeated: false }],
	["that are right, when it is repeated,", { isRight: true, isRepeated: true }],
	["that are wrong, when it is repeated,", { isRight: false, isRepeated: true }],
] as const)
	test(`power cut before, in the middle of and after each flash operation of a trial of settings ${name} leaves the previous ones or the new ones`, (t) => {
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

test("settings that can only be read are erased as a whole", () => {
	const calls: string[] = [];
	eraseSettings({
		delete: () => {
			throw new Error("read-only");
		},
		erase: () => calls.push("erase"),
	});
	assert.deepEqual(calls, ["erase"]);
});

test("erasing leaves nothing of what was installed, also where power is cut and it is asked for again", () => {
	for (let operation = 1; ; operation++) {
		const bench = new Bench();
		bench.trial.begin(changed);
		bench.powerCycle();
		bench.flash.cutAt(operation, "after");
		const wasCut = isCut(bench, () => eraseSettings(bench.store));
		bench.powerCycle();
		if (wasCut) {
			// Less than before, but no mixture of the two.
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
