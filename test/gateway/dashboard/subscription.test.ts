import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { maxSubscribedDevices } from "../../../gateway/api/subscription.js";
import { restMs, Subscription } from "../../../gateway/dashboard/page/app/subscription.js";

function setUp(t: TestContext) {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const sent: string[] = [];
	const followed: number[] = [];
	let needed: readonly string[] = [];
	let isRejecting = false;
	const subscription = new Subscription({
		needed: () => needed,
		send: async (ids) => {
			sent.push(ids.join(" "));
			if (isRejecting) throw new Error("Too many requests.");
		},
		onChanged: (ids) => followed.push(ids.size),
	});
	return {
		subscription,
		sent,
		followed,
		advance: (ms: number) => t.mock.timers.tick(ms),
		need: (...ids: readonly string[]) => {
			needed = ids;
		},
		reject: (isRejected: boolean) => {
			isRejecting = isRejected;
		},
	};
}

describe("subscription", () => {
	test("starts with each connection, for the visible devices", (t) => {
		const { subscription, sent, advance } = setUp(t);
		subscription.show("a");
		advance(restMs);
		assert.deepEqual(sent, [], "sent before the connection");
		subscription.onOpen();
		assert.deepEqual(sent, ["a"]);
		subscription.show("b");
		subscription.onLost();
		subscription.show("c");
		advance(restMs);
		subscription.onOpen();
		subscription.show("d");
		advance(restMs);
		assert.deepEqual(sent, ["a", "a b c", "a b c d"]);
	});

	test("changes after a delay, and only if the visible devices differ", (t) => {
		const { subscription, sent, advance } = setUp(t);
		subscription.onOpen();
		const hide = subscription.show("flies past");
		advance(restMs - 1);
		hide();
		subscription.show("a");
		subscription.show("b");
		assert.deepEqual(sent, [""]);
		advance(1);
		assert.deepEqual(sent, ["", "a b"]);
		subscription.show("a")();
		advance(restMs);
		assert.deepEqual(sent, ["", "a b"], "still visible in another view");
	});

	test("is throttled while the view changes constantly", (t) => {
		const { subscription, sent, advance } = setUp(t);
		subscription.onOpen();
		const stepMs = 16;
		for (let step = 0; step < 100; step++) {
			subscription.show(`d${step}`);
			advance(stepMs);
		}
		assert.ok(sent.length >= 5 && sent.length <= 8, `${sent.length} messages`);
	});

	test("respects the gateway's limit, with required devices first", (t) => {
		const { subscription, sent, need } = setUp(t);
		need("needed", "d3");
		for (let index = 0; index < 300; index++) subscription.show(`d${index}`);
		subscription.onOpen();
		const ids = sent[0]?.split(" ") ?? [];
		assert.equal(ids.length, maxSubscribedDevices);
		assert.deepEqual(ids.slice(0, 3), ["needed", "d3", "d0"]);
	});

	test("includes a device before a request to it", (t) => {
		const { subscription, sent, followed, need } = setUp(t);
		subscription.onOpen();
		need("asked");
		subscription.ensure("asked");
		subscription.ensure("asked");
		const found = [sent, followed];
		assert.deepEqual(found, [
			["", "asked"],
			[0, 1],
		]);
	});

	test("is resent after a rejection", async (t) => {
		const { subscription, sent, advance, reject } = setUp(t);
		reject(true);
		subscription.show("a");
		subscription.onOpen();
		await setImmediate();
		reject(false);
		advance(999);
		assert.deepEqual(sent, ["a"]);
		advance(1);
		assert.deepEqual(sent, ["a", "a"]);
	});
});
