import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { skip } from "../support/chromium.js";
import { runFleet } from "../support/fleet.js";
import { rolloutIds } from "../support/released-fleet.js";
import { browsing } from "./browsing.js";

const open = browsing();

describe("update of virtual devices in XS", { skip }, () => {
	test("updates two models from one click by one plan", async (t) => {
		const fleet = await runFleet(t);
		const { bytes } = await buildFirmware();
		await fleet.release(
			"1.1.0",
			makeVirtualImage(bytes, "DEV-1", "1.1.0"),
			makeVirtualImage(bytes, "PROTO-1", "1.1.0"),
		);
		const devices = [
			await fleet.powerOn("DEV-1", { version: "1.0.0", serial: "000001" }),
			await fleet.powerOn("PROTO-1", { version: "1.0.0", serial: "000002" }),
		];
		const page = await open(t, fleet.url, {
			view: `#/firmware?devices=${devices.map(({ deviceId }) => deviceId).join(",")}`,
		});
		const form = page.getByRole("dialog", { name: "New rollout" });
		await form.getByText("One after another; pauses at the first failure.").waitFor();
		await form.getByRole("radio", { name: "Custom" }).check();
		await form.getByLabel("Soak time").fill("0");
		await form.getByRole("button", { name: "Update 2 devices" }).click();
		await page.getByRole("status").getByText("Finished 2 of 2 devices").waitFor();
		assert.equal((await rolloutIds(fleet.url)).length, 1);
		for (const { device } of devices) assert.equal(device.started.slot, 1);
	});
});
