/** Contract tests of shared storage of gateways, for each implementation of Bus. */

import assert from "node:assert/strict";
import disk, { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { readTokenFile, tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import { retire, rotate } from "../../../scripts/token/rotation.js";
import { assertSameBytes } from "../../support/bytes.js";
import { eventually as retry } from "../../support/eventually.js";
import { bearer, monitorToken } from "../../support/gateway-settings.js";
import { makeImage } from "../../support/images.js";
import { runGateway, temporaryDirectory } from "../../support/running.js";
import { ScriptedDevice } from "../../support/scripted-device.js";
import type { Buses } from "./bus-contract.js";
import { type Clustered, ofFleet, runClustered, runGateways } from "./gateways.js";

const id = "dev-1-000001";
const crash = {
	id: "c1c1",
	kind: "exception",
	message: "on purpose",
	stack: "",
	firmware_version: "1.2.3",
	uptime_seconds: 7,
	trace: "",
} as const;

/** Retries until `work` does not throw. Its assertions pass a message, as Node 20 searches for others in the source. */
function eventually<T>(work: () => Promise<T>): Promise<T> {
	return retry(work, () => true);
}

async function details(gateway: Clustered, deviceId = id): Promise<Readonly<Record<string, unknown>>> {
	const { status, body } = await gateway.api("GET", `/api/devices/${deviceId}`);
	assert.equal(status, 200);
	return body;
}

async function upload(gateway: Pick<Clustered, "url">, image: Buffer, status = 201): Promise<void> {
	const body = new FormData();
	body.append("firmware", new Blob([new Uint8Array(image)]), "firmware.bin");
	const answer = await fetch(`${gateway.url}/ota/upload`, {
		method: "POST",
		body,
		headers: bearer(monitorToken),
	});
	assert.equal(answer.status, status, await answer.text());
}

async function served(gateway: Clustered): Promise<Buffer> {
	const answer = await fetch(`${gateway.url}/ota/firmware.bin`, { headers: bearer(monitorToken) });
	return Buffer.from(await answer.arrayBuffer());
}

/** @param make respects the test's timeout */
export function testStores(name: string, make: (t: TestContext) => Promise<Buses>): void {
	const two = async (t: TestContext) => {
		const buses = await make(t);
		const [a, b] = await runGateways(t, buses, 2);
		return { a, b, buses };
	};

	describe(`${name}: shared storage`, { timeout: 300_000 }, () => {
		test("serves uploads at each gateway, and rejects new ones without the bus", async (t) => {
			const { a, b, buses } = await two(t);
			const [first, second] = [makeImage({ version: "1.5.0" }), makeImage({ version: "1.6.0" })];
			await upload(a, first);
			assertSameBytes(await eventually(async () => same(await served(b), first)), first);
			await buses.cut(b.bus);
			await upload(b, second, 503);
			for (const each of [a, b]) assertSameBytes(await served(each), first);
			await buses.heal(b.bus);
			await upload(b, second);
			await eventually(async () => same(await served(a), second));
			const c = await runClustered(t, await buses.connect());
			await eventually(async () => same(await served(c), second));
		});

		test("continues an update at the gateway where the device reconnects", ofFleet, async (t) => {
			const { a, b } = await two(t);
			await upload(b, makeImage({ version: "9.9.9" }));
			await eventually(async () => assert.ok((await served(a)).length > 1000, "not there yet"));
			let { url } = a;
			const device = await a.join(id, {
				ending: "waits",
				get url() {
					return url;
				},
			});
			const watch = await b.watch();
			await watch.request({ type: "trigger_ota", targetId: id, version: "custom", requestId: "u" });
			await device.offered;
			url = b.url;
			await device.finish("updates");
			for (const each of [a, b])
				await eventually(async () => {
					const { updates } = await details(each);
					assert.ok(Array.isArray(updates), "no updates");
					assert.deepEqual([updates.length, updates[0].status, updates[0].version], [1, "updated", "9.9.9"]);
				});
			device.close();
		});

		test(
			"keeps names, crashes and updates for a new gateway after all others have stopped",
			ofFleet,
			async (t) => {
				const { a, b, buses } = await two(t);
				const device = await a.join(id, { crash, ending: "fails" });
				await b.api("PATCH", `/api/devices/${id}`, { name: "Kitchen", room: "Home" });
				await upload(a, makeImage({ version: "9.9.9" }));
				const watch = await a.watch();
				await watch.request({ type: "trigger_ota", targetId: id, version: "custom", requestId: "u" });
				const isWhole = async (each: Clustered) => {
					const { crashes, updates, versions, firmwareVersion, ...rest } = await details(each);
					assert.ok(
						Array.isArray(crashes) && Array.isArray(updates) && Array.isArray(versions),
						"incomplete details",
					);
					assert.deepEqual(
						[
							rest.name,
							rest.room,
							firmwareVersion,
							versions[0].version,
							crashes.map(({ message }) => message),
						],
						["Kitchen", "Home", "1.2.3", "1.2.3", ["on purpose"]],
					);
					assert.deepEqual(
						updates.map(({ status }) => status),
						["failed"],
					);
				};
				for (const each of [a, b]) await eventually(() => isWhole(each));
				device.close();
				await a.gateway.close();
				await b.gateway.close();
				const c = await runClustered(t, await buses.connect());
				await eventually(() => isWhole(c));
			},
		);

		test("stores a name set without the bus on reconnect, unless changed meanwhile", ofFleet, async (t) => {
			const { a, b, buses } = await two(t);
			const device = await a.join(id);
			await eventually(() => details(b));
			device.close();
			const name = async (where: Clustered, text: string) =>
				(await where.api("PATCH", `/api/devices/${id}`, { name: text })).status;
			const shows = async (text: string) => {
				for (const each of [a, b])
					await eventually(async () => assert.equal((await details(each)).name ?? "", text));
			};
			await buses.cut(a.bus);
			assert.equal(await name(a, "first"), 503);
			await buses.heal(a.bus);

			await shows("first");
			await buses.cut(a.bus);
			assert.equal(await name(a, "second"), 503);
			assert.equal(await name(b, "third"), 200);
			await buses.heal(a.bus);
			await shows("third");
			assert.equal(await name(a, "fourth"), 200);
			await shows("fourth");
			assert.equal(await name(b, ""), 200);
			await shows("");
		});

		test("stores a device first seen without the bus on reconnect", ofFleet, async (t) => {
			const { a, b, buses } = await two(t);
			await buses.cut(a.bus);
			const device = await a.join(id);
			await buses.heal(a.bus);
			await eventually(async () => assert.equal((await details(b)).connected, true));
			device.close();
			await eventually(async () => assert.equal((await details(b)).connected, false));
			await a.gateway.close();
			await b.gateway.close();
			const c = await runClustered(t, await buses.connect());
			assert.equal((await details(c)).firmwareVersion, "1.2.3");
		});

		test("forgets devices at all gateways, or at none without the bus", ofFleet, async (t) => {
			const { a, b, buses } = await two(t);
			const device = await a.join(id, { crash });
			await eventually(() => details(b));
			device.close();
			await eventually(async () => assert.equal((await details(b)).connected, false));
			await buses.cut(a.bus);
			assert.equal((await a.api("DELETE", `/api/devices/${id}`)).status, 503);
			await details(a);
			await buses.heal(a.bus);
			await eventually(async () => assert.equal((await b.api("DELETE", `/api/devices/${id}`)).status, 204));
			for (const each of [a, b, await runClustered(t, await buses.connect())])
				await eventually(async () => assert.equal((await each.api("GET", `/api/devices/${id}`)).status, 404));
			// May reappear.
			const back = new ScriptedDevice({ url: b.url, deviceId: id });
			await back.connect();
			for (const each of [a, b]) await eventually(() => details(each));
			back.close();
		});

		test("imports the data of a standalone gateway once", ofFleet, async (t) => {
			const buses = await make(t);
			const dataDir = await temporaryDirectory(t);
			const alone = await runGateway(t, { dataDir });
			const image = makeImage({ version: "1.5.0" });
			await upload(alone, image);
			const device = await new ScriptedDevice({ url: alone.url, deviceId: id, crash }).connect();
			await eventually(async () =>
				assert.ok((await readdir(join(dataDir, "crashes"))).length > 0, "none yet"),
			);
			await fetch(`${alone.url}/api/devices/${id}`, {
				method: "PATCH",
				headers: bearer(monitorToken),
				body: '{"name":"Kitchen"}',
			});
			device.close();
			await alone.gateway.close();
			const a = await runClustered(t, await buses.connect(), { dataDir });
			const { name, crashes, connected } = await details(a);
			assert.deepEqual([name, Array.isArray(crashes) && crashes.length, connected], ["Kitchen", 1, false]);
			const b = await runClustered(t, await buses.connect());
			for (const each of [a, b]) assertSameBytes(await served(each), image);
			await eventually(async () => assert.equal((await a.api("DELETE", `/api/devices/${id}`)).status, 204));
			await a.gateway.close();
			const again = await runClustered(t, await buses.connect(), { dataDir });
			assert.equal((await again.api("GET", `/api/devices/${id}`)).status, 404);
		});

		test("accepts a login code once, and logs out at all gateways", async (t) => {
			const buses = await make(t);
			const dataDir = await temporaryDirectory(t);
			const a = await runClustered(t, await buses.connect(), { dataDir });
			const b = await runClustered(t, await buses.connect());
			const { pathname, search } = new URL(a.loginUrl);
			const use = (where: Clustered) =>
				fetch(`${where.url}${pathname}${search}`, { method: "POST", redirect: "manual" });
			const entered = await use(b);
			assert.equal(entered.status, 303);
			const cookie = entered.headers.getSetCookie()[0]?.split(";")[0] ?? "";
			const state = (where: Clustered) => fetch(`${where.url}/login/state`, { headers: { cookie } });
			assert.deepEqual([(await state(a)).status, (await state(b)).status], [200, 200]);
			assert.equal((await use(b)).status, 401);
			await eventually(() => use(a).then(({ status }) => assert.equal(status, 401)));
			assert.equal((await use(a)).status, 401);
			const page = await a.open("/monitor", { headers: { cookie } });
			const headers = { cookie, origin: b.url };
			await fetch(`${b.url}/logout`, { method: "POST", headers, redirect: "manual" });
			await eventually(async () => assert.equal((await state(a)).status, 401));
			assert.equal((await page.closed).code, 1008);
		});

		test("accepts a code used at two gateways at once only once, even without the bus", async (t) => {
			const buses = await make(t);
			const a = await runClustered(t, await buses.connect());
			const b = await runClustered(t, await buses.connect());
			const use = async ({ url }: Clustered, { loginUrl }: Clustered) => {
				const { pathname, search } = new URL(loginUrl);
				return (await fetch(`${url}${pathname}${search}`, { method: "POST", redirect: "manual" })).status;
			};
			const statuses = await Promise.all([use(a, a), use(a, a), use(b, a), use(b, a)]);
			assert.deepEqual(statuses.sort(), [303, 401, 401, 401]);
			await buses.cut(b.bus);
			assert.deepEqual([await use(b, b), await use(b, b)], [303, 401]);
		});

		test("shares tokens and rotations, even with a disconnected gateway", async (t) => {
			const buses = await make(t);
			const made = { deviceToken: undefined, monitorToken: undefined };
			const start = async () => runClustered(t, await buses.connect(), made);
			const a = await start();
			const { device, monitor } = a.gateway.tokens;
			const [b, c] = [await start(), await start()];
			const change = async (by: typeof rotate, where: typeof a) => {
				const file = await readTokenFile(disk, tokenPath(where.dataDir));
				assert.ok(file, "no token file");
				const changed = by(file, ["device"]);
				await writeTokenFile(disk, tokenPath(where.dataDir), changed);
				return changed;
			};
			const areAll = async (token: string) => {
				for (const each of [a, b, c])
					await eventually(async () =>
						assert.deepEqual({ ...each.gateway.tokens }, { device: token, monitor }),
					);
			};
			await areAll(device);
			await areAll((await change(rotate, b)).device);
			await change(retire, a);
			await eventually(async () =>
				assert.equal((await readTokenFile(disk, tokenPath(c.dataDir)))?.previous, undefined),
			);
			await buses.cut(c.bus);
			const rotated = await change(rotate, c);
			await eventually(async () => assert.equal(c.gateway.tokens.device, rotated.device));
			await buses.heal(c.bus);
			await areAll(rotated.device);
			assert.deepEqual(await readTokenFile(disk, tokenPath(a.dataDir)), rotated);
			// Changes of gateways that do not see each other are merged.
			const request = async ({ url, gateway }: typeof a, method: string, path = "", name?: string) => {
				const headers = { ...bearer(gateway.tokens.monitor), "Content-Type": "application/json" };
				const body = name ? JSON.stringify({ name, role: "viewer" }) : null;
				const response = await fetch(`${url}/api/tokens${path}`, { method, headers, body });
				assert.ok(response.ok, await response.text());
			};
			const add = (where: typeof a, name: string) => request(where, "POST", "", name);
			await add(a, "anna");
			const namesAt = async ({ dataDir }: typeof a) =>
				(await readTokenFile(disk, tokenPath(dataDir)))?.named?.map(({ name }) => name).sort();
			await eventually(async () => assert.deepEqual(await namesAt(c), ["anna"]));
			await buses.cut(c.bus);
			await request(c, "DELETE", "/anna");
			await add(c, "cora");
			await Promise.all([add(a, "ben"), add(b, "dora")]);
			await buses.heal(c.bus);
			for (const each of [a, b, c])
				await eventually(async () => assert.deepEqual(await namesAt(each), ["ben", "cora", "dora"]));
			// Simulates servers that have lost their disks.
			const state = await a.bus.bucket("gw-state");
			assert.equal(await state.remove("tokens", (await state.get("tokens"))?.revision ?? 0), true);
			// No other content crashes a gateway either.
			const restored = async () => (await state.get("tokens")) ?? assert.fail("not stored yet");
			const { text, revision } = await eventually(restored);
			const damaged = (await state.set("tokens", "{", revision)) ?? assert.fail("refused");
			await state.set("tokens", text, damaged);
			const d = await start();
			assert.deepEqual({ ...d.gateway.tokens }, { device: rotated.device, monitor });
		});
	});
}

function same(one: Buffer, other: Buffer): Buffer {
	assert.ok(one.equals(other), "different content");
	return one;
}
