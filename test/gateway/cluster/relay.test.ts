/** Tests of batching and delivery of uplinks relayed between gateways. */

import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { Relay, readRelayed } from "../../../gateway/cluster/relay.js";
import { Session } from "../../../gateway/sessions/device.js";
import { character } from "../../support/arbitraries.js";
import "../../support/property-runs.js";

const handshake = {
	deviceId: undefined,
	isBound: false,
	model: undefined,
	chip: undefined,
	features: [],
	remoteAddress: "",
	baseUrl: "",
};

function newSession(at: number): Session {
	return new Session(handshake, { send() {}, close() {}, isOpen: () => true }, at);
}

/** @returns a relay, and the uplinks of each published message */
function relaying(t: TestContext) {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const published: string[][] = [];
	const relay = new Relay((message) =>
		published.push([...readRelayed(message)].map(({ text }) => text.toString("utf8", 0, 1))),
	);
	return { relay, published, tick: (ms: number) => t.mock.timers.tick(ms) };
}

test("sends an uplink after a pause immediately, and batches those within 2 ms", (t) => {
	const { relay, published, tick } = relaying(t);
	const session = newSession(1);
	relay.add(session, 1, "a", true);
	assert.deepEqual(published, [["a"]]);
	relay.add(session, 1, "b", true);
	relay.add(session, 1, "c", false);
	tick(1);
	assert.equal(published.length, 1);
	tick(1);
	assert.deepEqual(published.slice(1), [["b", "c"]]);
	relay.add(session, 1, "d", true);
	assert.equal(published.length, 2);
	tick(2);
	assert.deepEqual(published.slice(2), [["d"]]);
	tick(2);
	relay.add(session, 1, "e", true);
	assert.deepEqual(published.slice(3), [["e"]]);
});

test("flushes pending uplinks once on request", (t) => {
	const { relay, published, tick } = relaying(t);
	relay.flush();
	assert.equal(published.length, 0);
	for (const text of ["a", "b"]) relay.add(newSession(1), 1, text, true);
	relay.flush();
	relay.flush();
	tick(10);
	assert.deepEqual(published, [["a"], ["b"]]);
});

test("keeps messages below the NATS limit, in any alphabet", (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const sizes: number[] = [];
	const relay = new Relay((message) => sizes.push(Buffer.byteLength(message)));
	const session = newSession(1);
	// Largest uplink and small ones, with three bytes per character.
	const large = "\u20ac".repeat(21_845);
	for (let index = 0; index < 300; index += 1)
		relay.add(session, 1, index % 7 ? large.slice(0, 999) : large, true);
	assert.ok(sizes.length > 10 && sizes.length < 100, String(sizes.length));
	assert.ok(Math.max(...sizes) < 1_000_000, `${Math.max(...sizes)} bytes`);
});

test("delivers uplinks unchanged, in order, with any content", (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const uplink = fc.record(
		{
			session: fc.nat(2),
			revision: fc.nat(),
			at: fc.nat(),
			isStateReport: fc.boolean(),
			text: fc.oneof(fc.string({ unit: character }), fc.constantFrom("\n", "{\n}", "a state 1\n", "\ufeff")),
		},
		{ noNullPrototype: true },
	);
	fc.assert(
		fc.property(fc.array(uplink), (uplinks) => {
			const sessions = [1, 2, 3].map(newSession);
			const messages: Buffer[] = [];
			const relay = new Relay((message) => messages.push(Buffer.from(message)));
			const sent = uplinks.map(({ session: index, revision, at, isStateReport, text }) => {
				const session = sessions[index] ?? assert.fail(`no session ${index}`);
				session.lastSeenAt = at;
				relay.add(session, revision, text, isStateReport);
				return { sessionId: session.sessionId, revision, at, isStateReport, text: Buffer.from(text) };
			});
			t.mock.timers.tick(2);
			const relayed = messages.flatMap((message) => [...readRelayed(message.toString())]);
			assert.deepEqual(relayed, sent);
			t.mock.timers.tick(2);
		}),
	);
});

test("rejects invalid messages", () => {
	for (const message of [
		"x",
		"\n",
		"s 1 1 state\n",
		"s 1 1 state x\nabc",
		"s x 1 state 3\nabc",
		"s 1 x state 3\nabc",
		"s 1 1 state 4\nabc",
		"s 1 1 state -3\nabc",
	])
		assert.throws(() => [...readRelayed(message)], RangeError, JSON.stringify(message));
});
