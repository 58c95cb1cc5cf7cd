import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { endOfClose, endOfRejection } from "../../../device/network/connection-end.js";
import { freePort } from "../../support/ports.js";
import { orange, red, ringOf } from "../../support/ring.js";
import { powerOn } from "../../support/scripted-gateway.js";
import {
	pass,
	passUntil,
	passUntilTrue,
	powerOnInVirtualTime,
	yieldToSockets,
} from "../../support/virtual-time.js";
import { runCountingServer } from "./counting-server.js";

describe("end of a connection", () => {
	for (const [end, kind, reason] of [
		...[1000, 1002, 1008, 1011, 1013, 4001].map((code) => [endOfClose(code), "failed", code] as const),
		[endOfClose(undefined), "failed", "no code"],
		[endOfClose(4002), "rejected", "another board has its id"],
		...[401, 403].map(
			(status) => [endOfRejection(status, undefined), "rejected", "rejected the token"] as const,
		),
		[endOfRejection(410, undefined), "rejected", "another one has replaced it"],
		[endOfRejection(507, undefined), "rejected", "knows too many"],
		...[302, 400, 500].map((status) => [endOfRejection(status, 10), "failed", `(${status})`] as const),
		[endOfRejection(404, 10), "failed", "wrong path (404)"],
		[endOfRejection(426, 10), "failed", "protocol version (426)"],
	] as const)
		test(`is ${kind}, with the reason "${end.reason}"`, () => {
			assert.equal(end.kind, kind);
			assert.ok(end.reason.includes(String(reason)), end.reason);
		});

	test("clamps Retry-After, and counts a busy gateway without it as a failure", () => {
		for (const status of [429, 503]) {
			for (const [seconds, waitMs] of [
				[0, 1_000],
				[10, 10_000],
				[86_400, 120_000],
			] as const) {
				const end = endOfRejection(status, seconds);
				assert.ok(end.kind === "busy", `${status} ended as ${end.kind}: ${end.reason}`);
				assert.deepEqual([end.waitMs, end.spreadMs], [waitMs, waitMs / 2]);
			}
			assert.equal(endOfRejection(status, undefined).kind, "failed");
		}
	});
});

describe("restart of the gateway", () => {
	test("delays the reconnect by the seconds in the 1012 close reason, within limits", () => {
		for (const [seconds, waitMs] of [
			[0, 1_000],
			[12, 12_000],
			[999_999_999, 120_000],
		] as const) {
			const end = endOfClose(1012, `retry in ${seconds} s`);
			assert.ok(end.kind === "busy", `closed as ${end.kind}: ${end.reason}`);
			assert.deepEqual([end.waitMs, end.spreadMs], [waitMs, 1000]);
		}
	});

	test("is a lost connection when the close reason has no valid time", () => {
		for (const text of ["", "-1", "NaN", "1e9", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT", "9".repeat(10)])
			assert.equal(endOfClose(1012, `retry in ${text} s`).kind, "failed", text);
		for (const text of ["", "retry in 12", "retry in 12 s, or later", "\u00ff", "RETRY IN 12 s"])
			assert.equal(endOfClose(1012, text).kind, "failed", text);
		for (const code of [1001, 1008]) assert.equal(endOfClose(code, "retry in 12 s").kind, "failed");
	});

	test("reconnects after the given time without showing a failure on the ring", async (t) => {
		const { device, gateway, connection } = await powerOnInVirtualTime(t, "DEV-1");
		let current = connection;
		for (let restart = 1; restart <= 3; restart++) {
			const closedAt = device.machine.now;
			current.socket.close(1012, "retry in 20 s");
			await current.closed;
			const looks = new Set<string>();
			current = await passUntil(device, gateway.connection(), 250, () => looks.add(ringOf(device)));
			const pauseMs = device.machine.now - closedAt;
			assert.ok(pauseMs >= 20_000 && pauseMs <= 22_000, `restart ${restart}: ${pauseMs} ms`);
			assert.ok(looks.size > 1, "flashing: connecting");
			await current.next("state_report");
		}
	});
});

describe("close by the gateway", () => {
	test("ends the connection, and a message sent then throws nothing", async (t) => {
		const traced: string[] = [];
		const { device, gateway, connection } = await powerOnInVirtualTime(t, "DEV-1", {
			onTrace: (text) => traced.push(text),
		});
		const closedAt = device.machine.now;
		connection.socket.close(1000);
		await connection.closed;
		await pass(device, 0);
		device.board.setButton("mute", true);
		await passUntil(device, gateway.connection());
		const pauseMs = device.machine.now - closedAt;
		assert.ok(pauseMs >= 500, `${pauseMs} ms: half of the first delay`);
		const ends = traced.filter((text) => /^gateway: (?!next attempt)/.test(text));
		assert.deepEqual(ends, ["gateway: the gateway closed the connection with 1000\n"]);
	});
});

/** Starts a device whose upgrades are rejected. Each rejection reaches it before its clock advances. */
async function reject(t: TestContext, status: string, ...fields: string[]) {
	const head = [`HTTP/1.1 ${status}`, ...fields, "content-length: 0", "connection: close", "", ""];
	const gateway = await runCountingServer(t, (socket) =>
		socket.once("data", () => socket.end(head.join("\r\n"))),
	);
	const said: string[] = [];
	/** Successive states of the link. */
	const states: string[] = [];
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		onTrace: (text) => {
			if (text.startsWith("gateway: ")) said.push(text);
			else if (text.startsWith("gateway ")) states.push(text.slice("gateway ".length).trim());
		},
	});
	const hear = async () => {
		await yieldToSockets();
		await passUntilTrue(device, 0, () => said.length > 0 && said.length >= gateway.connections());
	};
	await hear();
	return {
		device,
		gateway,
		said,
		states,
		async letPass(ms: number) {
			for (let passed = 0; passed < ms; passed += 250) {
				await pass(device, 250);
				await hear();
			}
		},
	};
}

describe("rejected upgrade", () => {
	test("with 401 alternates orange and red on the ring and retries the token once a minute", async (t) => {
		const { device, gateway, said, states, letPass } = await reject(t, "401 Unauthorized");
		assert.match(said.join(""), /rejected the token \(401\)/);
		const looks = new Map<string, number>();
		for (let look = 0; look < 480; look++) {
			looks.set(ringOf(device), (looks.get(ringOf(device)) ?? 0) + 1);
			await letPass(250);
		}
		assert.deepEqual([...looks.keys()].sort(), [red, orange].sort());
		for (const count of looks.values()) assert.ok(count >= 200, "equally often");
		const count = gateway.connections();
		assert.ok(count >= 3 && count <= 5, `${count} attempts in two minutes`);
		assert.deepEqual(states, ["connecting", "rejected"]);
	});

	test("with 401 is retried immediately when a button is pressed", async (t) => {
		const { device, gateway, letPass } = await reject(t, "401 Unauthorized");
		device.board.setButton("volumeUp", true);
		await letPass(250);
		assert.equal(gateway.connections(), 2);
	});

	test("with 503 and Retry-After is retried after that time and counts as no failure", async (t) => {
		const { device, gateway, letPass } = await reject(t, "503 Service Unavailable", "Retry-After: 40");
		for (let rejection = 1; rejection <= 3; rejection++) {
			await letPass(38_500);
			assert.equal(gateway.connections(), rejection, "no attempt before Retry-After has passed");
			let laterMs = 0;
			for (; gateway.connections() === rejection; laterMs += 250) await letPass(250);
			assert.ok(laterMs <= 22_000, `retried ${laterMs} ms after the requested time`);
			const looks = new Set<string>();
			for (let look = 0; look < 4; look++) {
				looks.add(ringOf(device));
				await letPass(250);
			}
			assert.ok(looks.size > 1, "flashing: connecting");
		}
	});
});

test("names the address where no server listens", async (t) => {
	let said = "";
	const port = await freePort();
	const device = await powerOn(t, { url: `ws://127.0.0.1:${port}/device` }, "DEV-1", {
		clock: "virtual",
		onTrace: (text) => {
			said += text;
		},
	});
	await passUntilTrue(device, 0, () => said.includes("gateway: "));
	assert.match(said, new RegExp(`ECONNREFUSED.*gateway: no connection to 127\\.0\\.0\\.1:${port}`, "s"));
});
