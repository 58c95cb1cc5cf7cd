import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { speaker } from "../gateway.js";
import { start } from "../mount.js";

/** Slowest draw of each retry. */
const slowest = 0.999;

describe("connection of the page", () => {
	test("is retried within a second after each loss of an established connection", async (t) => {
		t.mock.method(Math, "random", () => slowest);
		const page = await start(t);
		for (const sockets of [2, 3, 4]) {
			page.gateway.lose();
			await page.advance(1_000);
			assert.equal(page.gateway.sockets.length, sockets);
			page.gateway.accept();
			await page.advance();
			assert.equal(page.app.linkState.name, "live");
		}
	});

	test("is retried ever less often, at most every 15 s, while the gateway is unreachable", async (t) => {
		t.mock.method(Math, "random", () => slowest);
		const page = await start(t);
		for (const [index, seconds] of [1, 2, 4, 8, 15, 15].entries()) {
			page.gateway.lose();
			await page.advance(seconds * 900);
			assert.equal(page.gateway.sockets.length, index + 1, `before ${seconds} s`);
			await page.advance(seconds * 100);
			assert.equal(page.gateway.sockets.length, index + 2, `after ${seconds} s`);
		}
	});

	test("asks for the login if the gateway no longer accepts that of the page", async (t) => {
		const unauthorized = () => Response.json({}, { status: 401 });
		const page = await start(t, {
			address: "#/devices/a",
			replies: { "GET /login/state": unauthorized },
		});
		const assign = t.mock.method(location, "assign", () => {});
		page.gateway.lose(1008);
		await page.advance();
		assert.deepEqual(assign.mock.calls[0]?.arguments, ["login#/devices/a"]);
	});

	for (const { isReporting, state } of [
		{ isReporting: false, state: "lost" },
		{ isReporting: true, state: "live" },
	])
		test(`is ${state} if the gateway stops responding, ${isReporting ? "but" : "and"} reports ${isReporting ? "arrive" : "stop"}`, async (t) => {
			const unreachable = () =>
				new Promise((_, reject) => setTimeout(() => reject(new Error("no response")), 4_000));
			const devices = [speaker("a")];
			const page = await start(t, { devices, replies: { "GET /readyz": unreachable } });
			page.app.startClock();
			for (let seconds = 0; seconds < 25; seconds += 1) {
				if (isReporting) await page.report("a");
				await page.advance(1_000);
			}
			assert.equal(page.app.linkState.name, state);
		});
});
