import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { AddressLimit, createMinuteCounter, Throttle, TokenBucket } from "../../../gateway/access/rates.js";
import { incomingRequest } from "../../support/incoming-request.js";

/** Rate limit of ten messages a second, with bursts of ten, of a socket that records its calls, with a stopped clock. */
function throttle(t: TestContext) {
	t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
	const calls: string[] = [];
	const socket = { pause: () => void calls.push("pause"), resume: () => void calls.push("resume") };
	const rate = { perSecond: 10, burst: 10, monotonic: Date.now };
	return { calls, paced: new Throttle(socket, rate) };
}

test("pauses a socket above the rate, until the tokens of all messages of a read are refilled", (t) => {
	const { calls, paced } = throttle(t);
	const pauses = Array.from({ length: 25 }, () => paced.count(Buffer.from("x")));
	assert.deepEqual([pauses.indexOf(true), pauses.filter(Boolean).length, calls], [10, 1, ["pause"]]);
	t.mock.timers.tick(1500);
	assert.deepEqual(calls, ["pause"]);
	t.mock.timers.tick(100);
	assert.deepEqual(calls, ["pause", "resume"]);
	assert.deepEqual([paced.count(Buffer.from("x")), paced.count(Buffer.from("x"))], [false, true]);
});

test("counts a long message as several, and resumes a socket that closes", (t) => {
	const { calls, paced } = throttle(t);
	const count = () => paced.count(Buffer.alloc(10_000, "x"));
	assert.deepEqual([count(), count(), count(), count()], [false, false, true, false]);
	paced.resume();
	t.mock.timers.tick(60_000);
	assert.deepEqual(calls, ["pause", "resume"]);
});

test("refills a token bucket up to its burst, and empties it further by costly events", () => {
	let now = 0;
	const bucket = new TokenBucket({ perSecond: 2, burst: 3, monotonic: () => now });
	const takeAll = () => Array.from({ length: 5 }, () => bucket.take()).filter(Boolean).length;
	assert.equal(takeAll(), 3);
	now += 1000;
	assert.equal(takeAll(), 2);
	now += 60_000;
	assert.deepEqual([bucket.take(0), bucket.take(5)], [true, true]);
	now += 1000;
	assert.equal(bucket.take(), false);
	now += 500;
	assert.equal(bucket.take(), true);
});

test("counts the events of the last minute", () => {
	const count = createMinuteCounter();
	assert.deepEqual([0, 30_000, 59_999, 60_000, 200_000].map(count), [1, 2, 3, 3, 1]);
});

describe("limit by address", () => {
	function limited(t: TestContext) {
		const clock = { now: 1_000_000 };
		t.mock.method(performance, "now", () => clock.now);
		const limit = new AddressLimit({ points: 2, seconds: 60, what: "wrong tokens" });
		/** Retry-After in seconds; undefined: not limited. */
		const count = (address: string, kind?: string) => {
			const { status = 200, headers = {} } = limit.count(incomingRequest(address, {}), kind) ?? {};
			assert.equal(status === 429, headers["Retry-After"] !== undefined);
			return headers["Retry-After"];
		};
		return { clock, count };
	}

	test("rejects events above the limit until the window ends, and later ones for longer", (t) => {
		const { clock, count } = limited(t);
		assert.deepEqual([count("192.0.2.1"), count("192.0.2.1")], [undefined, undefined]);
		clock.now += 20_000;
		assert.equal(count("192.0.2.1"), "40");
		clock.now += 30_000;
		assert.equal(count("192.0.2.1"), "10");
		assert.equal(count("192.0.2.1"), "60");
		clock.now += 10_000;
		assert.equal(count("192.0.2.1"), undefined);
	});

	test("counts other addresses and kinds separately, and an IPv6 network as one address", (t) => {
		const { count } = limited(t);
		for (const _ of [1, 2]) assert.equal(count("2001:db8::1", "device"), undefined);
		assert.equal(count("2001:db8::2", "device"), "60");
		assert.equal(count("2001:db8::1", "monitor"), undefined);
		assert.equal(count("2001:db8:0:1::1", "device"), undefined);
		assert.equal(count("192.0.2.1", "device"), undefined);
	});
});
