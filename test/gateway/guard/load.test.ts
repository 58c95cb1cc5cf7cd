/** Tests of the gateway under overload, and of the logs it writes then. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Events } from "../../../gateway/events.js";
import type { GatewayOptions } from "../../../gateway/gateway.js";
import { diskWith } from "../../support/disk.js";
import { deferred, nextEvent, waitUntil } from "../../support/eventually.js";
import { freePort } from "../../support/ports.js";
import { recordLog } from "../../support/recorded-log.js";
import { bearer, deviceToken, monitorToken, runGateway, upgradeRequest } from "../../support/running.js";

/** Gateway that counts finished tasks. @param work log line of a task */
async function counted(t: TestContext, options: GatewayOptions, work: RegExp) {
	const { lines, log } = recordLog("debug");
	const count = () => lines.filter(({ msg }) => work.test(String(msg))).length;
	const gateway = await runGateway(t, { ...options, log });
	const { hostname, port } = new URL(gateway.url);
	const connectMany = async (length: number) => {
		const sockets = Array.from({ length }, () => connect(Number(port), hostname));
		await Promise.all(sockets.map((socket) => once(socket, "connect")));
		// Node may accept one a turn, and what they send would come one a turn by itself.
		for (let turn = 0; turn < 2 * length; turn += 1) await setImmediate();
		return sockets;
	};
	/** Performs an action on each socket in this turn. */
	const all = async (sockets: readonly Socket[], act: (socket: Socket) => unknown) => {
		const before = count();
		for (const socket of sockets) act(socket);
		await waitUntil(
			() => count() >= before + sockets.length,
			async () => {
				const previous = count();
				await setImmediate();
				assert.ok(count() <= previous + 1, `${count() - previous} in one turn`);
			},
		);
	};
	return { gateway, connectMany, all };
}

describe("simultaneous reconnects", () => {
	test("are accepted at a rate, which is logged; the others get Retry-After", async (t) => {
		let now = 0;
		const { lines, log } = recordLog();
		const logged = (text: string) => lines.filter(({ msg }) => msg === text);
		const throttled = () => logged("throttling connecting devices").map(({ perSecond }) => perSecond);
		const emitted: unknown[] = [];
		const events = new Events();
		events.on({ rejected: (rejection) => emitted.push(rejection) });
		const gateway = await runGateway(t, {
			events,
			log,
			monotonic: () => now,
			limits: { deviceBurst: 3, devicesASecond: 2 },
		});
		for (let i = 0; i < 3; i += 1) await gateway.device();
		const seconds = new Set<number>();
		for (let i = 0; i < 40; i += 1) {
			const { status, headers } = await gateway.rejected("/device", bearer(deviceToken));
			assert.equal(status, 503);
			seconds.add(Number(headers["retry-after"]));
		}
		// 40 at 2 a second, of which firmware adds a quarter on average.
		assert.deepEqual([Math.min(...seconds), Math.max(...seconds)], [1, 16]);
		await gateway.monitor();
		now += 1000;
		for (let i = 0; i < 2; i += 1) await gateway.device();
		assert.equal((await gateway.rejected("/device", bearer(deviceToken))).status, 503);
		assert.deepEqual(throttled(), []);
		now += 4000;
		await gateway.device();
		assert.deepEqual(throttled(), [2]);
		assert.deepEqual(emitted, [], "reconnected out of turn");
		assert.equal((await gateway.rejected("/device", bearer("wrong"))).status, 401);
		const statuses = logged("upgrade rejected").map(({ status }) => status);
		assert.deepEqual(statuses, [401], "logged without Retry-After");
	});

	for (const [where, tokens] of [
		["given at the start", { deviceToken, monitorToken }],
		["in the data folder", { deviceToken: undefined, monitorToken: undefined }],
	] as const) {
		test(`are handled one per turn of the event loop, with tokens ${where}`, async (t) => {
			const { gateway, connectMany, all } = await counted(t, tokens, /^device: (dis)?connected$/);
			const sockets = await connectMany(20);
			const request = upgradeRequest("/device", gateway.gateway.tokens.device);
			await all(sockets, (socket) => socket.write(request));
			await all(sockets.splice(0, 10), (socket) => socket.resetAndDestroy());
			await all(sockets, (socket) => socket.destroy());
		});

		test(`are rejected one per turn, with tokens ${where}`, async (t) => {
			const { connectMany, all } = await counted(t, tokens, /^upgrade rejected$/);
			// After ten wrong tokens an address gets Retry-After, which is not logged.
			for (const path of ["/nothing", "/device"])
				await all(await connectMany(8), (socket) => socket.write(upgradeRequest(path, "wrong")));
		});
	}

	test("occupy no slot if closed before the gateway has read its data", async (t) => {
		const held = deferred();
		const disk = diskWith((operation, path) =>
			operation === "readdir" && path.endsWith("devices") ? held.promise : undefined,
		);
		const port = await freePort();
		const starting = runGateway(t, { port, disk, limits: { deviceBurst: 1, devicesASecond: 0 } });
		const pass = async () => {
			for (let turn = 0; turn < 500; turn += 1) await setImmediate();
		};
		for (let count = 0; count < 5; ) {
			const socket = connect(port, "127.0.0.1");
			const isOpen = await nextEvent(socket, "connect").then(
				() => true,
				() => false,
			);
			if (!isOpen) continue;
			count += 1;
			socket.write(upgradeRequest("/device", deviceToken));
			await pass();
			socket.resetAndDestroy();
			await pass();
		}
		held.resolve();
		await (await starting).device();
	});

	test("are rejected before any disk access", async (t) => {
		let looks = 0;
		const disk = diskWith((operation, path) => {
			if (operation === "stat" && path.endsWith("tokens.json")) looks += 1;
		});
		const limits = { deviceBurst: 1, devicesASecond: 0 };
		const own = { deviceToken: undefined, monitorToken: undefined };
		const gateway = await runGateway(t, { ...own, limits, disk });
		const headers = bearer(gateway.gateway.tokens.device);
		await gateway.device(headers);
		const before = looks;
		for (let i = 0; i < 5; i += 1) assert.equal((await gateway.rejected("/device", headers)).status, 503);
		assert.equal(looks, before);
		assert.equal((await gateway.rejected("/device", bearer("wrong"))).status, 401);
		assert.notEqual(looks, before);
	});

	test("count for unknown paths, without logging possible tokens", async (t) => {
		const { lines, log } = recordLog("warn");
		const gateway = await runGateway(t, { log, limits: { upgradesInTwoSeconds: 5 } });
		const path = `/device/${deviceToken}`;
		let status: number | undefined = 404;
		for (let i = 0; status === 404 && i < 1000; i += 1) ({ status } = await gateway.rejected(path));
		assert.equal(status, 429);
		assert.deepEqual([...new Set(lines.map((line) => line.path))], ["(unknown path)"]);
		await gateway.device();
	});

	test("receive Retry-After above the limit per address, even with valid tokens", async (t) => {
		const { url } = await runGateway(t, { limits: { upgradesInTwoSeconds: 1 } });
		const { hostname, port } = new URL(url);
		const answers = Array.from({ length: 20 }, async () => {
			const socket = connect(Number(port), hostname);
			socket.write(upgradeRequest("/monitor", monitorToken));
			const [answer] = await nextEvent(socket, "data");
			socket.destroy();
			return String(answer);
		});
		const rejected = (await Promise.all(answers)).filter((answer) => !answer.startsWith("HTTP/1.1 101 "));
		assert.notEqual(rejected.length, 0);
		for (const answer of rejected)
			assert.match(answer, /^HTTP\/1\.1 429 .+Retry-After: \d+.+Too many connections from this address/s);
	});

	test("do not block others of their address with another name or path", async (t) => {
		const gateway = await runGateway(t, { limits: { reconnectsInTenSeconds: 3, upgradesInTwoSeconds: 5 } });
		const again = { ...bearer(deviceToken), "Device-Id": "dev-1-000001" };
		for (let i = 0; i < 3; i += 1) await gateway.device(again);
		for (let i = 0; i < 20; i += 1) assert.equal((await gateway.rejected("/device", again)).status, 429);
		await gateway.device({ "Device-Id": "dev-1-000002" });
		for (let i = 0; i < 5; i += 1) await gateway.monitor();
		assert.equal((await gateway.rejected("/monitor", bearer(monitorToken))).status, 429);
		await gateway.device({ "Device-Id": "dev-1-000003" });
	});
});
