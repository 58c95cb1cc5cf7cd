import assert from "node:assert/strict";
import { test } from "node:test";
import { type CountedRejection, Rejections } from "../../../gateway/fleet/rejections.js";
import { eventually } from "../../support/eventually.js";
import { bearer, type RunningGateway, runGateway } from "../../support/running.js";

const rejection = { what: "connection", deviceId: "dev-1-a1b2c3", reason: "Show a valid token." } as const;

test("counts a repeated rejection, which becomes the latest", () => {
	let now = 1000;
	const rejections = new Rejections(() => now);
	rejections.add({ ...rejection, remoteAddress: "10.0.0.1" });
	rejections.add({ ...rejection, remoteAddress: "10.0.0.2" });
	now = 2000;
	rejections.add({ ...rejection, remoteAddress: "10.0.0.1" });
	const listed = rejections
		.list()
		.map(({ remoteAddress: from, ...rest }) => [from, rest.count, rest.firstAt, rest.lastAt].join(" "));
	assert.deepEqual(listed, ["10.0.0.1 2 1000 2000", "10.0.0.2 1 1000 1000"]);
});

test("keeps the latest 50, at most 20 per address", () => {
	const rejections = new Rejections(() => 0);
	for (let host = 1; host <= 10; host++) rejections.add({ ...rejection, remoteAddress: `10.0.0.${host}` });
	for (let index = 0; index < 1000; index++)
		rejections.add({ ...rejection, deviceId: `dev-1-${index}`, remoteAddress: "10.0.1.1" });
	assert.equal(rejections.list().length, 30);
	assert.equal(rejections.list()[0]?.deviceId, "dev-1-999");
	for (let host = 1; host <= 100; host++) rejections.add({ ...rejection, remoteAddress: `10.0.2.${host}` });
	assert.equal(rejections.list().length, 50);
	assert.equal(rejections.list().at(-1)?.remoteAddress, "10.0.2.51");
});

async function list({ api }: RunningGateway) {
	const { rejections } = (await api("GET", "/api/rejections")).body;
	return rejections.map(({ what, deviceId, reason, count }: CountedRejection) => [
		what,
		deviceId,
		reason,
		count,
	]);
}

test("lists rejected devices by name, and dropped reports", async (t) => {
	const gateway = await runGateway(t);
	for (const id of ["dev-1-a1b2c3", "<script>"])
		await gateway.rejected("/device", { "Device-Id": id, ...bearer("a-token-that-is-not-the-right-one") });
	const unauthorized = "Missing or invalid token.";
	const expected = [null, "dev-1-a1b2c3"].map((deviceId) => ["connection", deviceId, unauthorized, 1]);
	assert.deepEqual(await list(gateway), expected);
	const { device } = await gateway.namedDevice(await gateway.monitor());
	device.socket.send("no JSON");
	device.socket.send("no JSON");
	const listed = () => list(gateway);
	const [latest = []] = await eventually(listed, ([latest]) => latest?.[3] === 2);
	assert.deepEqual(latest.slice(0, 3), ["report", latest[1], "not JSON"]);
	assert.match(String(latest[1]), /^(dev|proto)-1-/);
});

test("lists monitors with an invalid token, but not pages without a login, nor tokens in other paths", async (t) => {
	const gateway = await runGateway(t);
	for (const headers of [{}, { Cookie: "gateway_0123456789ab=1.old" }])
		assert.equal((await gateway.rejected("/monitor", headers)).status, 401);
	await gateway.rejected("/device/some-secret");
	assert.deepEqual(await list(gateway), []);
	assert.equal((await gateway.rejected("/monitor", bearer("a-token-of-yesterday"))).status, 401);
	assert.deepEqual(await list(gateway), [["connection", null, "Missing or invalid token.", 1]]);
});
