import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AdmissionRate, watchEventLoopDelay } from "../../../gateway/guard/admission-rate.js";

/** Admission with a clock and an event loop delay set by the test. */
function admissionOf(perSecond: number, burst = 10) {
	const loop = { now: 0, delayMs: 0 };
	const reports: number[] = [];
	const admission = new AdmissionRate({
		perSecond,
		burst,
		monotonic: () => loop.now,
		readDelayMs: () => loop.delayMs,
		onThrottling: (rate) => reports.push(rate),
	});
	/** Connects devices every millisecond. @returns number of admitted devices */
	const crowd = (ms: number) => {
		let admitted = 0;
		for (const end = loop.now + ms; loop.now < end; loop.now += 1)
			if (admission.tryAdmit() === undefined) admitted += 1;
		return admitted;
	};
	return { loop, reports, admission, crowd };
}

describe("admission rate", () => {
	test("grows while devices are rejected and the event loop has no delay, but not while all are admitted", () => {
		const { admission, crowd } = admissionOf(100);
		assert.equal(crowd(200), 10 + 20 - 1, "at first as given, after a burst");
		crowd(1900);
		assert.equal(admission.perSecond, 100 + 8 * 50);
		const calm = admissionOf(1500);
		assert.deepEqual([calm.crowd(3000), calm.admission.perSecond, calm.reports], [3000, 1500, []]);
	});

	test("falls while the event loop delay exceeds 50 ms, to at least 100", () => {
		const { loop, admission, crowd } = admissionOf(400);
		loop.delayMs = 51;
		crowd(600);
		assert.equal(Math.round(admission.perSecond), Math.round(400 * 0.7 ** 2));
		crowd(10_000);
		assert.equal(admission.perSecond, 100);
		loop.delayMs = 50;
		crowd(300);
		assert.equal(admission.perSecond, 100, "it neither falls nor grows");
		loop.delayMs = 3;
		crowd(300);
		assert.ok(admission.perSecond > 100, "it grows again");
	});

	test("falls above a delay of 3 ms only to 400, and never grows then", () => {
		for (const initial of [1000, 50]) {
			const { loop, admission, crowd } = admissionOf(initial);
			loop.delayMs = 3.1;
			crowd(10_600);
			assert.equal(admission.perSecond, Math.min(initial, 400));
		}
	});

	test("ignores a delay from before the devices connected", () => {
		const { loop, admission, crowd } = admissionOf(400);
		loop.now = 60_000;
		loop.delayMs = 5000;
		crowd(200);
		assert.equal(admission.perSecond, 400);
	});

	test("is reported every 5 s while devices are rejected", () => {
		const { reports, crowd, loop } = admissionOf(100);
		loop.delayMs = 60;
		crowd(5500);
		assert.deepEqual(reports, [100]);
		loop.now += 60_000;
		crowd(5500);
		assert.deepEqual(reports, [100, 100, 100]);
	});
});

describe("rejected devices", () => {
	test("are assigned consecutive slots, to which firmware adds a quarter on average", () => {
		const { admission } = admissionOf(100, 0);
		const seconds = Array.from({ length: 1000 }, () => admission.tryAdmit());
		assert.deepEqual([seconds[0], seconds[249], seconds[499], seconds[999]], [1, 2, 4, 8]);
	});

	test("do not wait longer when the rate falls", () => {
		const { loop, admission, crowd } = admissionOf(100, 0);
		loop.delayMs = 1000;
		crowd(2000);
		loop.now += 100_000;
		const seconds = Array.from({ length: 500 }, () => admission.tryAdmit());
		assert.equal(seconds[499], 4);
	});

	test("wait a minute at most, and a second without others", () => {
		const { loop, admission } = admissionOf(10, 1);
		const seconds = Array.from({ length: 5000 }, () => admission.tryAdmit() ?? 0);
		assert.equal(Math.max(...seconds), 60);
		assert.equal(admissionOf(0, 0).admission.tryAdmit(), 60);
		loop.now += 75_000;
		assert.equal(admission.tryAdmit(), undefined);
		assert.equal(admission.tryAdmit(), 1);
	});
});

test("measures the typical event loop delay, not a single longer one", async (t) => {
	const delay = watchEventLoopDelay();
	t.after(() => delay.close());
	const turns = async (count: number, eachMs: number) => {
		for (let turn = 0; turn < count; turn += 1) {
			await new Promise((resolve) => setTimeout(resolve, 1));
			for (const end = performance.now() + eachMs; performance.now() < end; );
		}
	};
	await turns(5, 40);
	delay.readMs();
	await turns(5, 40);
	const busyMs = delay.readMs();
	assert.ok(busyMs > 20, `${busyMs}`);
	assert.equal(delay.readMs(), 0, "taken");
	await turns(40, 1);
	await turns(1, 600);
	await turns(40, 1);
	const quietMs = delay.readMs();
	assert.ok(quietMs < 300, `${quietMs}`);
});
