/** Contract tests of shared storage of gateways, for each implementation of Bus. */

import assert from "node:assert/strict";
import disk, { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { readTokenFile, tokenPath, writeTokenFile } from "../../../gateway/access/tokens.js";
import { retire, rotate } from "../../../scripts/token/rotation.js";
import { eventually as retry } from "../../support/eventually.js";
import { bearer, monitorToken } from "../../support/gateway-settings.js";
import { makeImage } from "../../support/images.js";
import { runGateway } from "../../support/running.js";
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

/** Waits until each gateway shows the device with these fields. */
async function shows(gateways: readonly Clustered[], fields: object): Promise<void> {
	for (const gateway of gateways)
		await eventually(async () => {
			const shown = await details(gateway);
			assert.ok(isPart(fields, shown), JSON.stringify(shown));
		});
}

function isPart(part: unknown, value: unknown): boolean {
	if (typeof part !== "object" || part === null) return part === value;
	if (Array.isArray(part) && Object(value).length !== part.length) return false;
	return Object.entries(part).every(([name, field]) => isPart(field, Object(value)[name]));
}

async function upload(gateway: Pick<Clustered, "upload">, image: Buffer, expected = 201): Promise<void> {
	const { status, text } = await gateway.upload(image);
	assert.equal(status, expected, text);
}

/** Waits until each gateway serves the image. */
async function serve(gateways: readonly Clustered[], image: Buffer): Promise<void> {
	for (const { url } of gateways)
		await eventually(async () => {
			const answer = await fetch(`${url}/ota/firmware.bin`, { headers: bearer(monitorToken) });
			assert.ok(image.equals(Buffer.from(await answer.arrayBuffer())), "different content");
		});
}

/** Uses a login link at a gateway. */
function enter({ url }: Clustered, { loginUrl }: Clustered): Promise<Response> {
	const { pathname, search } = new URL(loginUrl);
	return fetch(`${url}${pathname}${search}`, { method: "POST", redirect: "manual" });
}

/** @param make respects the test's timeout */
export function testStores(name: string, make: (t: TestContext) => Promise<Buses>): void {
	const two = async (t: TestContext) => {
		const buses = await make(t);
		const [a, b] = await runGateways(t, buses, 2);
		const join = async () => runClustered(t, await buses.connect());
		return { a, b, buses, both: [a, b], join };
	};

	describe(`${name}: shared storage`, { timeout: 300_000 }, () => {
		test("serves uploads at each gateway, and rejects new ones without the bus", async (t) => {
			const { a, b, buses, both, join } = await two(t);
			const [first, second] = [makeImage({ version: "1.5.0" }), makeImage({ version: "1.6.0" })];
			await upload(a, first);
			await serve(both, first);
			await buses.cut(b.bus);
			await upload(b, second, 503);
			await serve(both, first);
			await buses.heal(b.bus);
			await upload(b, second);
			await serve([...both, await join()], second);
		});

		test("continues an update at the gateway where the device reconnects", ofFleet, async (t) => {
			const { a, b, both } = await two(t);
			const image = makeImage({ version: "9.9.9" });
			await upload(b, image);
			await serve(both, image);
			let { url } = a;
			const device = await a.join(id, {
				ending: "waits",
				get url() {
					return url;
				},
			});
			await update(b);
			await device.offered;
			url = b.url;
			await device.finish("updates");
			await shows(both, { updates: [{ status: "updated", version: "9.9.9" }] });
			device.close();
		});

		test("keeps names, crashes and updates while all gateways are stopped", ofFleet, async (t) => {
			const { a, b, both, join } = await two(t);
			const device = await a.join(id, { crash, ending: "fails" });
			await shows([b], {});
			await rename(b, { name: "Kitchen", room: "Home" });
			await upload(a, makeImage({ version: "9.9.9" }));
			await update(a);
			const whole = {
				...{ name: "Kitchen", room: "Home", firmwareVersion: "1.2.3", versions: [{ version: "1.2.3" }] },
				...{ crashes: [{ message: "on purpose" }], updates: [{ status: "failed" }] },
			};
			await shows(both, whole);
			device.close();
			for (const { gateway } of both) await gateway.close();
			await shows([await join()], whole);
		});

		test("stores a name set without the bus on reconnect, unless changed meanwhile", ofFleet, async (t) => {
			const { a, b, buses, both } = await two(t);
			const device = await a.join(id);
			await shows([b], {});
			device.close();
			const name = (where: Clustered, text: string, status = 200) => rename(where, { name: text }, status);
			await buses.cut(a.bus);
			await name(a, "first", 503);
			await buses.heal(a.bus);

			await shows(both, { name: "first" });
			await buses.cut(a.bus);
			await name(a, "second", 503);
			await name(b, "third");
			await buses.heal(a.bus);
			await shows(both, { name: "third" });
			await name(a, "fourth");
			await shows(both, { name: "fourth" });
			await name(b, "");
			for (const gateway of both)
				await eventually(async () => assert.equal((await details(gateway)).name, undefined, "named"));
		});

		test("stores a device first seen without the bus on reconnect", ofFleet, async (t) => {
			const { a, b, buses, both, join } = await two(t);
			await buses.cut(a.bus);
			const device = await a.join(id);
			await buses.heal(a.bus);
			await shows([b], { connected: true });
			device.close();
			await shows([b], { connected: false });
			for (const { gateway } of both) await gateway.close();
			await shows([await join()], { firmwareVersion: "1.2.3" });
		});

		test("forgets devices at all gateways, or at none without the bus", ofFleet, async (t) => {
			const { a, b, buses, both, join } = await two(t);
			const answer = async (where: Clustered, method: string, expected: number) => {
				const { status } = await where.api(method, `/api/devices/${id}`);
				assert.equal(status, expected, `${method} answered`);
			};
			const device = await a.join(id, { crash });
			await shows([b], {});
			device.close();
			await shows([b], { connected: false });
			await buses.cut(a.bus);
			await answer(a, "DELETE", 503);
			await answer(a, "GET", 200);
			await buses.heal(a.bus);
			await eventually(() => answer(b, "DELETE", 204));
			for (const gateway of [a, b, await join()]) await eventually(() => answer(gateway, "GET", 404));
			// May reappear.
			const back = await new ScriptedDevice({ url: b.url, deviceId: id }).connect();
			await shows(both, {});
			back.close();
		});

		test("imports the data of a standalone gateway once", ofFleet, async (t) => {
			const buses = await make(t);
			const alone = await runGateway(t);
			const { dataDir } = alone;
			const start = async () => runClustered(t, await buses.connect(), { dataDir });
			const image = makeImage({ version: "1.5.0" });
			await upload(alone, image);
			const device = await new ScriptedDevice({ url: alone.url, deviceId: id, crash }).connect();
			await eventually(async () => assert.ok((await readdir(join(dataDir, "crashes"))).length > 0, "none"));
			await rename(alone, { name: "Kitchen" });
			device.close();
			await alone.gateway.close();
			const a = await start();
			await shows([a], { name: "Kitchen", crashes: [{}], connected: false });
			await serve([a, await runClustered(t, await buses.connect())], image);
			await eventually(async () =>
				assert.equal((await a.api("DELETE", `/api/devices/${id}`)).status, 204, "rejected"),
			);
			await a.gateway.close();
			assert.equal((await (await start()).api("GET", `/api/devices/${id}`)).status, 404);
		});

		test("accepts a login code once, and logs out at all gateways", async (t) => {
			const { a, b, both } = await two(t);
			const entered = await enter(b, a);
			assert.equal(entered.status, 303);
			const cookie = entered.headers.getSetCookie()[0]?.split(";")[0] ?? "";
			const answer = async ({ url }: Clustered, status: number) => {
				const shown = await fetch(`${url}/login/state`, { headers: { cookie } });
				assert.equal(shown.status, status, "other state");
			};
			for (const gateway of both) await answer(gateway, 200);
			assert.equal((await enter(b, a)).status, 401);
			await eventually(async () => assert.equal((await enter(a, a)).status, 401, "accepted"));
			const page = await a.open("/monitor", { headers: { cookie } });
			const headers = { cookie, origin: b.url };
			await fetch(`${b.url}/logout`, { method: "POST", headers, redirect: "manual" });
			await eventually(() => answer(a, 401));
			assert.equal((await page.closed).code, 1008);
		});

		test("accepts a code used at two gateways at once only once, even without the bus", async (t) => {
			const { a, b, buses } = await two(t);
			const used = await Promise.all([enter(a, a), enter(a, a), enter(b, a), enter(b, a)]);
			assert.deepEqual(used.map(({ status }) => status).sort(), [303, 401, 401, 401]);
			await buses.cut(b.bus);
			assert.deepEqual([(await enter(b, b)).status, (await enter(b, b)).status], [303, 401]);
		});

		test("shares tokens and rotations, even with a disconnected gateway", async (t) => {
			const buses = await make(t);
			const made = { deviceToken: undefined, monitorToken: undefined };
			const start = async () => runClustered(t, await buses.connect(), made);
			const a = await start();
			const { device, monitor } = a.gateway.tokens;
			const [b, c] = [await start(), await start()];
			const fileOf = ({ dataDir }: Clustered) => readTokenFile(disk, tokenPath(dataDir));
			const change = async (by: typeof rotate, where: Clustered) => {
				const changed = by((await fileOf(where)) ?? assert.fail("no token file"), ["device"]);
				await writeTokenFile(disk, tokenPath(where.dataDir), changed);
				return changed;
			};
			const have = async (gateways: readonly Clustered[], token: string) => {
				for (const { gateway } of gateways)
					await eventually(async () =>
						assert.deepEqual({ ...gateway.tokens }, { device: token, monitor }, "others"),
					);
			};
			await have([a, b, c], device);
			await have([a, b, c], (await change(rotate, b)).device);
			await change(retire, a);
			await eventually(async () => assert.equal((await fileOf(c))?.previous, undefined, "not retired"));
			await buses.cut(c.bus);
			const rotated = await change(rotate, c);
			await have([c], rotated.device);
			await buses.heal(c.bus);
			await have([a, b, c], rotated.device);
			assert.deepEqual(await fileOf(a), rotated);
			// Changes of gateways that do not see each other are merged.
			const request = async (where: Clustered, method: string, path = "", name?: string) => {
				const body = name ? { name, role: "viewer" } : undefined;
				const { status, text } = await where.api(method, `/api/tokens${path}`, body, monitor);
				assert.ok(status < 300, text);
			};
			const areNamed = async (gateways: readonly Clustered[], names: readonly string[]) => {
				for (const gateway of gateways)
					await eventually(async () => {
						const { named = [] } = (await fileOf(gateway)) ?? {};
						assert.deepEqual(named.map(({ name }) => name).sort(), names, "others");
					});
			};
			await request(a, "POST", "", "anna");
			await areNamed([c], ["anna"]);
			await buses.cut(c.bus);
			await request(c, "DELETE", "/anna");
			await request(c, "POST", "", "cora");
			await Promise.all([request(a, "POST", "", "ben"), request(b, "POST", "", "dora")]);
			await buses.heal(c.bus);
			await areNamed([a, b, c], ["ben", "cora", "dora"]);
			// Simulates servers that have lost their disks.
			const state = await a.bus.bucket("gw-state");
			assert.equal(await state.remove("tokens", (await state.get("tokens"))?.revision ?? 0), true);
			// No other content crashes a gateway either.
			const restored = async () => (await state.get("tokens")) ?? assert.fail("not stored yet");
			const { text, revision } = await eventually(restored);
			const damaged = (await state.set("tokens", "{", revision)) ?? assert.fail("rejected");
			await state.set("tokens", text, damaged);
			await have([await start()], rotated.device);
		});
	});
}

async function rename({ api }: Pick<Clustered, "api">, label: object, expected = 200): Promise<void> {
	assert.equal((await api("PATCH", `/api/devices/${id}`, label)).status, expected);
}

/** Starts an update to the upload. */
async function update(gateway: Clustered): Promise<void> {
	// It may not know the device of another gateway yet.
	await shows([gateway], {});
	const watch = await gateway.watch();
	const answer = await watch.request({ type: "trigger_ota", targetId: id, version: "custom" });
	assert.equal(answer.type, "ack", JSON.stringify(answer));
}
