import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { skip } from "../support/chromium.js";
import { runFleet } from "../support/fleet.js";
import { browsing } from "./browsing.js";

const open = browsing();

describe("an update of virtual devices in XS", { skip }, () => {
	test("goes from a click on all outdated ones to the new firmware running on each", async (t) => {
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
		const page = await open(t, fleet.url, { view: "#/firmware" });
		await page.getByRole("button", { name: "Update all outdated (2)" }).click();
		await page.getByText("Done, 2 devices to 1.1.0: 2 updated").waitFor();
		for (const { device } of devices) assert.equal(device.started.slot, 1);
		await page.getByRole("button", { name: "Update all outdated (0)" }).waitFor();
	});
});
