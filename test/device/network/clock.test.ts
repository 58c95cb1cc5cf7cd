import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { Clock } from "../../../device/network/clock.js";
import { clock as timers } from "../update/timer.js";

const hour = 3_600_000;
const built = Date.UTC(2026, 2, 1);

/** Chip without a battery, its flash, and a time server that responds with `serverTime`. */
class Chip {
	readonly writes: number[] = [];
	readonly answers: ((seconds: number | undefined) => void)[] = [];
	serverTime: number | undefined;
	/** Wall clock at the start of the timers. */
	#startMs = 0;
	stored = 0;
	/** Wall clock at each correction. */
	readonly corrections: number[] = [];
	readonly buildTime: number;
	clock: Clock;

	constructor(t: TestContext, buildTime = built / 1000) {
		this.buildTime = buildTime;
		t.mock.method(Date, "now", () => this.#startMs + timers.now);
		this.clock = this.powerOn();
	}

	powerOn(): Clock {
		timers.clear();
		this.now = 0;
		const system = {
			buildTime: this.buildTime,
			setTime: (seconds: number) => {
				this.now = seconds * 1000;
			},
		};
		const queries = this;
		this.clock = new Clock({
			part: class {
				constructor({ onTime }: { readonly onTime: (seconds: number | undefined) => void }) {
					const { serverTime } = queries;
					queries.answers.push(onTime);
					onTime(serverTime === undefined ? undefined : serverTime / 1000);
				}
				close(): void {}
			},
			// Only these two are used.
			system: Object.assign(Object.create(null), system),
			server: undefined,
			settings: {
				number: (_name, minimum, maximum, fallback) =>
					this.stored >= minimum && this.stored <= maximum ? this.stored : fallback,
				remember: (_name, value) => {
					this.stored = Number(value);
					this.writes.push(this.stored * 1000);
				},
			},
			onSet: () => this.corrections.push(this.now),
		});
		return this.clock;
	}

	get now(): number {
		return Date.now();
	}

	set now(ms: number) {
		this.#startMs = ms - timers.now;
	}
}

describe("clock of a device without a time server", () => {
	test("starts at the image's build time, and continues after a power cut, at most an hour late", (t) => {
		const chip = new Chip(t);
		assert.equal(chip.now, built);
		timers.pass(2.5 * hour);
		chip.powerOn();
		assert.equal(chip.now, built + 2 * hour);
	});

	test("starts at the build time of a newer image if that is later than the stored time", (t) => {
		const chip = new Chip(t);
		chip.stored = (built - hour) / 1000;
		chip.powerOn();
		assert.equal(chip.now, built);
	});

	test("starts in 1970 if no time is known, and does not store it", (t) => {
		const chip = new Chip(t, 0);
		assert.equal(chip.now, 0);
		timers.pass(1.5 * hour);
		chip.clock.store();
		assert.deepEqual(chip.writes, []);
	});
});

describe("time server", () => {
	for (const time of [built + 1000 * hour, built - 1000 * hour])
		test(`sets the clock ${time > built ? "forward" : "back"} and updates the stored time`, (t) => {
			const chip = new Chip(t);
			chip.stored = built / 1000;
			chip.serverTime = time;
			chip.clock.start();
			assert.deepEqual([chip.now, chip.stored * 1000, chip.corrections], [time, time, [time]]);
		});

	test("is queried every minute until it responds, and every 6 hours from then on", (t) => {
		const chip = new Chip(t);
		chip.clock.start();
		timers.pass(2 * 60_000 + 1);
		assert.equal(chip.answers.length, 3);
		chip.serverTime = built + 1000 * hour;
		timers.pass(60_000);
		assert.equal(chip.now, chip.serverTime + 1, "1 ms ago");
		timers.pass(6 * hour - 2);
		assert.equal(chip.answers.length, 4);
		timers.pass(2);
		assert.equal(chip.answers.length, 5);
		chip.clock.stop();
		timers.pass(12 * hour);
		assert.equal(chip.answers.length, 5);
	});

	test("does not make the clock write more than once an hour, even if the device keeps restarting", (t) => {
		const chip = new Chip(t);
		chip.serverTime = built + 1000 * hour;
		for (let restart = 0; restart < 20; restart++) {
			chip.powerOn().start();
			timers.pass(6 * 60_000);
			chip.serverTime += 6 * 60_000;
		}
		assert.equal(chip.writes.length, 2);
		chip.writes.length = 0;
		chip.serverTime = undefined;
		timers.pass(10 * hour);
		assert.equal(chip.writes.length, 10);
	});
});

describe("Date header of the gateway's response", () => {
	const later = built + 1000 * hour;

	test("sets the clock until a time server has responded, and is ignored if it is implausible", (t) => {
		const chip = new Chip(t);
		for (const date of [new Date(built - 1000).toUTCString(), "Thu, 01 Jan 2150 00:00:00 GMT", "soon"]) {
			chip.clock.setByGateway(date);
			assert.equal(chip.now, built, date);
		}
		chip.clock.setByGateway(new Date(later).toUTCString());
		assert.equal(chip.now, later);
		chip.serverTime = built;
		chip.clock.start();
		chip.clock.setByGateway(new Date(later).toUTCString());
		assert.equal(chip.now, built);
	});

	test("replaces a wrong stored time at once, and reveals one that was more than a day ahead", (t) => {
		const chip = new Chip(t);
		for (const [aheadSeconds, reported] of [
			[86_400, undefined],
			[86_401, 86_401],
			[-1000 * 86_400, undefined],
		] as const) {
			chip.stored = later / 1000 + aheadSeconds;
			chip.powerOn().setByGateway(new Date(later).toUTCString());
			assert.deepEqual([chip.now, chip.stored * 1000], [later, later]);
			assert.equal(chip.clock.aheadSeconds, reported);
		}
	});
});
