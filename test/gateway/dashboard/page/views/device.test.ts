import assert from "node:assert/strict";
import { test } from "node:test";
import type { OtaStatus } from "../../../../../gateway/api/statuses.js";
import { noUpdate } from "../../../../../gateway/api/update.js";
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
	await page.advance(60_000);
	assert.equal(loads(), 2);
	await page.leave();
	await page.advance(20 * 60_000);
	assert.equal(loads(), 2);
});

test("a download is canceled by a button, which firmware without the feature does not have", async (t) => {
	const metadata = (otaStatus: OtaStatus) => ({ ...noUpdate, otaStatus, otaPercent: 40 });
	const devices = [
		{ ...speaker("a"), metadata: metadata("downloading"), features: ["cancel"] },
		{ ...speaker("old"), metadata: metadata("downloading") },
		{ ...speaker("late"), metadata: metadata("rebooting"), features: ["cancel"] },
	] as const;
	const viewOf = (deviceKey: string) => ({ deviceKey, tab: "firmware" }) as const;
	const page = await mount(t, DeviceView, viewOf("a"), { devices });
	for (const { deviceId } of devices)
		await page.report(deviceId, { "peripherals.led_ring.state_name": "updating" });
	await page.click("button", "Cancel update");
	assert.deepEqual(page.gateway.takeCommands(), [["a", "cancel_ota"]]);
	for (const other of ["old", "late"]) {
		await page.render(DeviceView, viewOf(other));
		assert.equal(page.has("button", "Cancel update"), false, other);
	}
});
