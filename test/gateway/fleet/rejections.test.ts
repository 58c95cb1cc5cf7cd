import assert from "node:assert/strict";
import { test } from "node:test";
import { WebSocket } from "ws";
import { Rejections } from "../../../gateway/fleet/rejections.js";
import { eventually } from "../../support/eventually.js";
import { bearer, monitorToken, runGateway } from "../../support/running.js";

const rejection = { what: "connection", deviceId: "dev-1-a1b2c3", reason: "Show a valid token." } as const;

test("counts a repeated rejection, which becomes the latest", () => {
	let now = 1000;
	const refusals = new Rejections(() => now);
	refusals.add({ ...rejection, remoteAddress: "10.0.0.1" });
	refusals.add({ ...rejection, remoteAddress: "10.0.0.2" });
	now = 2000;
	refusals.add({ ...rejection, remoteAddress: "10.0.0.1" });
	assert.deepEqual(
		refusals
			.list()
			.map(({ remoteAddress, count, firstAt, lastAt }) => [remoteAddress, count, firstAt, lastAt]),
		[
			["10.0.0.1", 2, 1000, 2000],
			["10.0.0.2", 1, 1000, 1000],
		],
	);
});

test("keeps the latest 50, at most 20 per address", () => {
	const refusals = new Rejections(() => 0);
	for (let host = 1; host <= 10; host++) refusals.add({ ...rejection, remoteAddress: `10.0.0.${host}` });
	for (let index = 0; index < 1000; index++)
		refusals.add({ ...rejection, deviceId: `dev-1-${index}`, remoteAddress: "10.0.1.1" });
	assert.equal(refusals.list().length, 30);
	assert.equal(refusals.list()[0]?.deviceId, "dev-1-999");
	for (let host = 1; host <= 100; host++) refusals.add({ ...rejection, remoteAddress: `10.0.2.${host}` });
	assert.equal(refusals.list().length, 50);
	assert.equal(refusals.list().at(-1)?.remoteAddress, "10.0.2.51");
});

async function list(url: string) {
	const response = await fetch(new URL("/api/refusals", url), { headers: bearer(monitorToken) });
	const {
		refusals,
	}: { refusals: { what: string; deviceId: string | null; reason: string; count: number }[] } = JSON.parse(
		await response.text(),
	);
	return refusals.map(({ what, deviceId, reason, count }) => [what, deviceId, reason, count]);
}

async function refused(url: string, headers: Record<string, string>): Promise<void> {
	const socket = new WebSocket(url, { headers });
	await new Promise((resolve) => socket.once("error", resolve));
}

test("lists rejected devices by name, and dropped reports", async (t) => {
	const gateway = await runGateway(t);
	const url = `${gateway.url.replace("http", "ws")}/device`;
	await refused(url, { "Device-Id": "dev-1-a1b2c3", ...bearer("a-token-that-is-not-the-right-one") });
	await refused(url, { "Device-Id": "<script>", ...bearer("a-token-that-is-not-the-right-one") });
	const unauthorized = "Missing or invalid token.";
	assert.deepEqual(await list(gateway.url), [
		["connection", null, unauthorized, 1],
		["connection", "dev-1-a1b2c3", unauthorized, 1],
	]);
	const monitor = await gateway.monitor();
	const { device } = await gateway.namedDevice(monitor);
	device.socket.send("no JSON");
	device.socket.send("no JSON");
	const [latest = []] = await eventually(
		() => list(gateway.url),
		([latest]) => latest?.[3] === 2,
	);
	assert.deepEqual(latest.slice(0, 3), ["report", latest[1], "not JSON"]);
	assert.match(String(latest[1]), /^(dev|proto)-1-/);
});

test("lists monitors with an invalid token, but not pages without a login", async (t) => {
	const gateway = await runGateway(t);
	assert.equal((await gateway.refused("/monitor", {})).status, 401);
	assert.equal((await gateway.refused("/monitor", { Cookie: "gateway_0123456789ab=1.old" })).status, 401);
	assert.deepEqual(await list(gateway.url), []);
	assert.equal((await gateway.refused("/monitor", bearer("a-token-of-yesterday"))).status, 401);
	assert.deepEqual(await list(gateway.url), [["connection", null, "Missing or invalid token.", 1]]);
});

test("lists no other paths, and no token in them", async (t) => {
	const gateway = await runGateway(t);
	await refused(`${gateway.url.replace("http", "ws")}/device/some-secret`, {});
	assert.deepEqual(await list(gateway.url), []);
});
