import assert from "node:assert/strict";
import { test } from "node:test";
import { speaker } from "../gateway.js";
import { mount } from "../mount.js";

const { DeviceView } = await import("../../../../../gateway/dashboard/page/views/device.js");

test("the page of a device reloads its records until it is left", async (t) => {
	const view = { deviceKey: "a", tab: "overview" } as const;
	const page = await mount(t, DeviceView, view, { devices: [speaker("a")] });
	const loads = () => page.gateway.counts.get("GET /api/devices/a/history") ?? 0;
	assert.equal(loads(), 0, "not before its first report");
	await page.report("a");
	assert.equal(loads(), 1);
	await page.advance(5 * 60_000);
	assert.equal(loads(), 2);
	await page.leave();
	await page.advance(20 * 60_000);
	assert.equal(loads(), 2);
});
