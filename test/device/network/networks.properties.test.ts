/**
 * Wi-Fi station and settings trial in Node, over a simulated radio and compared with a model: networks vanish,
 * return, change their password and stop responding at any time.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import Timer from "timer";
import type { ScanOptions, WiFi, WiFiReason } from "../../../device/host.js";
import { knownNetworks, type WiFiNetwork, WiFiStation } from "../../../device/network/wifi.js";
import type { ChangedSettings, InstalledSetting } from "../../../device/protocol/messages.js";
import { SettingsTrial } from "../../../device/settings-trial.js";
import { runs } from "../../support/property-runs.js";
import { clock } from "../update/timer.js";

declare global {
	function trace(...texts: unknown[]): void;
}
/** The station catches errors of the driver and traces them, including those of the simulated one below. */
globalThis.trace = (text) => assert.doesNotMatch(String(text), /overlapping|scan|settings/);

const names = ["a", "b", "c"] as const;
type Name = (typeof names)[number];
const passwords = ["", "password 1", "password 2"] as const;

interface AccessPoint {
	/** Empty: open network that accepts every password. */
	readonly password: string;
	readonly rssi: number;
	readonly isHidden: boolean;
	/** Assigns no IP address. */
	readonly isSilent: boolean;
	readonly leadsToGateway: boolean;
}
type World = Partial<Record<Name, AccessPoint | undefined>>;

function answer(world: World, ssid: string, password: string): WiFiReason | "silent" | "joined" {
	const name = names.find((known) => known === ssid);
	const accessPoint = name && world[name];
	if (!accessPoint) return "no_access_point";
	if (accessPoint.password !== "" && accessPoint.password !== password) return "wrong_password";
	return accessPoint.isSilent ? "silent" : "joined";
}

/** Simulates the SDK's driver: an attempt ends in a callback or never; a scan takes 2 s and excludes attempts. */
class Radio implements WiFi {
	static world: World = {};
	static current: Radio | undefined;
	/** SSID of each attempt, in order. */
	static attempts: string[] = [];
	readonly #onChanged: (property: string) => void;
	connection = 200;
	reason: WiFiReason | undefined;
	#wanted = { SSID: "", password: "" };
	#timer: Timer | undefined;
	#isScanning = false;

	constructor(options: { onChanged: (property: string) => void }) {
		this.#onChanged = options.onChanged;
		Radio.current = this;
	}

	get SSID(): string {
		return this.#wanted.SSID;
	}

	get address(): string {
		return "10.0.0.2";
	}

	get RSSI(): number {
		return -50;
	}

	configure(): void {}

	connect({ SSID, password = "" }: { SSID: string; password?: string }): void {
		assert.ok(this.connection === 200 && !this.#isScanning, "overlapping attempts");
		Radio.attempts.push(SSID);
		this.#wanted = { SSID, password };
		this.reason = undefined;
		this.connection = 300;
		this.#timer = Timer.set(() => this.#end(answer(Radio.world, SSID, password)), 700);
	}

	scan({ onFound, onComplete }: ScanOptions): void {
		assert.ok(this.connection === 200 && !this.#isScanning, "overlapping scans");
		this.#isScanning = true;
		Timer.set(() => {
			this.#isScanning = false;
			for (const name of names) {
				const accessPoint = Radio.world[name];
				if (!accessPoint || accessPoint.isHidden) continue;
				// Second access point of the network, barely in range.
				for (const RSSI of [accessPoint.rssi, -95]) onFound({ SSID: name, RSSI });
			}
			onComplete();
		}, 2_000);
	}

	disconnect(): void {
		Timer.clear(this.#timer);
		this.connection = 200;
		// The disconnect event arrives later, in the pause before the next attempt or during its scan.
		Timer.set(() => this.#onChanged("connection"), 1_000);
	}

	close(): void {}

	/** Drops a connection whose network is gone. */
	look(): void {
		if (this.connection < 500) return;
		const now = answer(Radio.world, this.#wanted.SSID, this.#wanted.password);
		if (now !== "joined") this.#end(now === "no_access_point" ? "signal_lost" : now);
	}

	#end(now: ReturnType<typeof answer>): void {
		if (now === "silent" && this.connection < 500) return;
		this.connection = now === "joined" ? 500 : 200;
		if (now !== "joined" && now !== "silent") this.reason = now;
		this.#onChanged("connection");
	}
}

const networkSettings = ["ssid", "password", "ssid2", "password2"] as const;
type Values = { readonly [N in InstalledSetting]?: string };

/** Station and trial as main.ts combines them, with a gateway behind some of the access points. */
class Device {
	readonly store = new Map<string, string>();
	readonly results: string[] = [];
	#isEnding = false;
	trial: SettingsTrial;
	station: WiFiStation;

	constructor(settings: Values) {
		for (const [name, value] of Object.entries(settings)) if (value !== "") this.store.set(name, value);
		[this.trial, this.station] = this.#start();
	}

	/** Persists across restarts. */
	pass(ms: number): void {
		for (let passed = 0; passed < ms; passed += 1_000) {
			clock.pass(Math.min(1_000, ms - passed));
			if (this.#isEnding) this.restart();
		}
	}

	restart(): void {
		clock.clear();
		this.#isEnding = false;
		[this.trial, this.station] = this.#start();
	}

	#start(): [SettingsTrial, WiFiStation] {
		const store = {
			read: (key: string) => this.store.get(key),
			write: (key: string, value: string) => void this.store.set(key, value),
			delete: (key: string) => void this.store.delete(key),
		};
		const trial = new SettingsTrial({
			store,
			getFailureReason: () => station.problem ?? "no gateway",
			restart: () => {
				this.#isEnding = true;
			},
			send: ({ outcome }) => {
				this.results.push(outcome);
				trial.onReported();
			},
		});
		const station = new WiFiStation({
			part: Radio,
			networks: knownNetworks(
				(name) => trial.value(name) ?? this.store.get(name) ?? "",
				(name) => trial.value(name) !== undefined,
			),
			isTrialOn: () => trial.isUndecided,
			hostname: "d",
			onStateChanged: () => Timer.set(() => this.#report(), 300),
		});
		station.start();
		return [trial, station];
	}

	#report(): void {
		const name = names.find((known) => known === this.station.report.wifi_ssid);
		if (name && Radio.world[name]?.leadsToGateway) this.trial.onReported();
	}
}

const accessPoint: fc.Arbitrary<AccessPoint | undefined> = fc.option(
	fc.record({
		password: fc.constantFrom(...passwords),
		rssi: fc.integer({ min: -90, max: -30 }),
		isHidden: fc.boolean(),
		isSilent: fc.nat(4).map((number) => number === 0),
		leadsToGateway: fc.nat(3).map((number) => number > 0),
	}),
	{ nil: undefined, freq: 4 },
);
const world = fc.record({ a: accessPoint, b: accessPoint, c: accessPoint });
const settings = fc.record({
	ssid: fc.constantFrom(...names),
	password: fc.constantFrom(...passwords),
	ssid2: fc.constantFrom("", ...names),
	password2: fc.constantFrom(...passwords),
});

/** Restarts the device with an idle radio and without the previous timers. */
function begin(first: World, values: Values): Device {
	clock.clear();
	Radio.world = first;
	return new Device(values);
}

function change(world: World): void {
	Radio.world = { ...Radio.world, ...world };
	Radio.current?.look();
}

function knownTo(device: Device): readonly WiFiNetwork[] {
	return knownNetworks(
		(name) => device.store.get(name) ?? "",
		() => false,
	);
}

/** Longer than a round with 20 s for each attempt and the minute after it. */
const longEnoughMs = 5 * 60_000;

/** Checks the state after a time without changes. */
function checkConnected(device: Device, context: string): void {
	Radio.attempts.length = 0;
	device.pass(longEnoughMs);
	const known = knownTo(device);
	const joinable = known.filter(({ ssid, password }) => answer(Radio.world, ssid, password) === "joined");
	if (joinable.length > 0) {
		assert.equal(device.station.state, "connected", context);
		assert.ok(
			joinable.some(({ ssid }) => ssid === device.station.report.wifi_ssid),
			`connected to ${device.station.report.wifi_ssid}: ${context}`,
		);
		return;
	}
	assert.notEqual(device.station.state, "connected", context);
	for (const { ssid } of known) assert.ok(Radio.attempts.includes(ssid), `${ssid} was not tried: ${context}`);
}

test("joins a known network whenever one is available, and tries each of them otherwise", () => {
	const step = fc.oneof(
		fc.record({ world }),
		fc.record({ ssid: fc.constantFrom(...names), becomes: accessPoint }),
		fc.record({ passMs: fc.integer({ min: 1, max: 150_000 }) }),
		fc.constant({ isPress: true } as const),
	);
	let joined = 0;
	fc.assert(
		fc.property(world, settings, fc.array(step, { maxLength: 25 }), (first, values, steps) => {
			const device = begin(first, values);
			for (const step of steps) {
				if ("world" in step) change(step.world);
				else if ("ssid" in step) change({ [step.ssid]: step.becomes });
				else if ("passMs" in step) device.pass(step.passMs);
				else device.station.retryNow();
			}
			const reconnects = () => device.station.report.reconnects ?? 0;
			const before = reconnects();
			checkConnected(device, JSON.stringify(Radio.world));
			assert.ok(reconnects() - before <= 1, "a stable network is joined once");
			if (device.station.state === "connected") joined += 1;
		}),
		{ numRuns: runs(4000) },
	);
	assert.ok(joined > 0, "no run joined a network");
});

test("joins the stronger network after a connection loss", () => {
	const [near, far] = [-40, -80].map((rssi) => ({
		password: "",
		rssi,
		isHidden: false,
		isSilent: false,
		leadsToGateway: true,
	}));
	const device = begin({ a: near, b: far }, { ssid: "a", ssid2: "b" });
	for (const [index, joined] of ["a", "b"].entries()) {
		device.pass(longEnoughMs);
		const { problem, report } = device.station;
		const { wifi_ssid, last_loss, reconnects } = report;
		assert.deepEqual(
			{ wifi_ssid, problem, last_loss, reconnects },
			{ wifi_ssid: joined, problem: undefined, last_loss: ["signal_lost"][index - 1], reconnects: index },
		);
		change({ a: undefined, b: undefined });
		change({ a: far, b: near });
	}
});

test("leaves a network 10 minutes after the first report that the gateway is not reached, until it is", () => {
	const near = { password: "", rssi: -40, isHidden: false, isSilent: false, leadsToGateway: false };
	const device = begin({ a: near, b: { ...near, rssi: -80 } }, { ssid: "a", ssid2: "b" });
	device.pass(10_000);
	for (const [ms, isReached, ssid] of [
		[9 * 60_000, false, "a"],
		[59_000, false, "a"],
		[30_000, false, "b"],
		[9 * 60_000, false, "b"],
		[20 * 60_000, true, "b"],
	] as const) {
		device.station.onGateway(isReached);
		device.pass(ms);
		assert.equal(device.station.report.wifi_ssid, ssid);
	}
});

test("restarts the retries only once a connection has lasted 30 s", () => {
	const near = { password: "", rssi: -40, isHidden: false, isSilent: false, leadsToGateway: true };
	for (const [heldMs, isQuick] of [
		[31_000, true],
		[20_000, false],
	] as const) {
		const device = begin({ a: near }, { ssid: "a" });
		device.pass(5_000);
		let longestMs = 0;
		for (let loss = 0; loss < 7; loss += 1) {
			device.pass(heldMs);
			change({ a: undefined });
			change({ a: near });
			const lostAt = clock.now;
			while (device.station.state !== "connected") device.pass(1_000);
			longestMs = Math.max(longestMs, clock.now - lostAt);
		}
		// The longest delay of a round is 16 s; two rounds are at least 30 s apart.
		assert.equal(longestMs < 20_000, isQuick, `${longestMs} ms after ${heldMs} ms`);
	}
});

test("makes no attempt after it was closed during a scan", () => {
	const device = begin({}, { ssid: "a", ssid2: "b" });
	device.station.close();
	Radio.attempts.length = 0;
	device.pass(longEnoughMs);
	assert.deepEqual(Radio.attempts, []);
});

/** @returns whether the settings are kept */
function isKept(values: Values, changed: ChangedSettings): boolean {
	const isNew = (name: InstalledSetting) =>
		changed[name] !== undefined || (name === "password2" && changed.ssid2 === "");
	const tried = knownNetworks((name) => values[name] ?? "", isNew);
	const strength = ({ ssid, isOnTrial }: WiFiNetwork) => {
		const name = names.find((known) => known === ssid);
		const accessPoint = name && Radio.world[name];
		if (isOnTrial) return 1;
		return accessPoint && !accessPoint.isHidden ? accessPoint.rssi : -1000;
	};
	for (const network of [...tried].sort((a, b) => strength(b) - strength(a))) {
		const name = names.find((known) => known === network.ssid);
		const found = answer(Radio.world, network.ssid, network.password);
		if (found === "joined") return name !== undefined && Radio.world[name]?.leadsToGateway === true;
		if (found === "wrong_password" && network.isOnTrial) return false;
	}
	return false;
}

test("ends each settings trial as the model does, with at least one network to try", () => {
	const changed: fc.Arbitrary<ChangedSettings> = fc
		.record(
			{
				ssid: fc.constantFrom(...names),
				password: fc.constantFrom(...passwords),
				ssid2: fc.constantFrom("", ...names),
				password2: fc.constantFrom(...passwords),
			},
			{ requiredKeys: [] },
		)
		.filter((fields) => Object.keys(fields).length > 0);
	const outcomes = { kept: 0, returned: 0, rejected: 0 };
	fc.assert(
		fc.property(world, settings, changed, world, (atTrial, values, newSettings, afterwards) => {
			const device = begin(atTrial, values);
			const previous = new Map(device.store);
			const problem = device.trial.begin(newSettings);
			if (problem !== undefined) {
				outcomes.rejected += 1;
				assert.ok(newSettings.password2 && !(newSettings.ssid2 ?? values.ssid2), problem);
				assert.deepEqual(device.store, previous);
				return;
			}
			const next: Values = {
				...values,
				...newSettings,
				...(newSettings.ssid2 === "" && { password2: "" }),
			};
			const kept = isKept(next, newSettings);
			device.restart();
			device.pass(longEnoughMs);
			const expected = kept ? new Map(Object.entries(next).filter(([, value]) => value !== "")) : previous;
			const used = new Map(networkSettings.map((name) => [name, device.store.get(name)]));
			for (const name of networkSettings) assert.equal(used.get(name), expected.get(name), name);
			outcomes[kept ? "kept" : "returned"] += 1;
			if (device.results.length > 0) assert.deepEqual(device.results, [kept ? "kept" : "returned"]);
			change(afterwards);
			checkConnected(device, JSON.stringify(afterwards));
			for (const key of device.store.keys()) assert.doesNotMatch(key, /^new_/);
		}),
		{ numRuns: runs(4000) },
	);
	assert.ok(outcomes.kept > 0 && outcomes.returned > 0, JSON.stringify(outcomes));
});
