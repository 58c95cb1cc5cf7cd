/** A person uploads firmware, and updates single devices, of which some fail. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { skip } from "../support/chromium.js";
import { makeImage } from "../support/images.js";
import { runReleasedFleet } from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";
import { checkView } from "./axe.js";
import { browsing, disclose, sees } from "./browsing.js";

const open = browsing();
const [updating, reverting, current, otherChip] = Array.from(
	{ length: 4 },
	(_, index) => `dev-1-00000${index}`,
);

/** Drops a file named dropped.bin onto the page. */
async function drop(page: Page, content: Buffer): Promise<void> {
	const dataTransfer = await page.evaluateHandle(
		`(() => {
			const transfer = new DataTransfer();
			transfer.items.add(new File([new Uint8Array(${JSON.stringify([...content])})], "dropped.bin"));
			return transfer;
		})()`,
	);
	await page.getByText(/^Drop a/).dispatchEvent("drop", { dataTransfer });
}

test("firmware", { skip }, async (t) => {
	const { url, fleet, releasesDir } = await runReleasedFleet(t, [
		{ ending: "waits" },
		{ ending: "rolls back" },
		{ version: "1.4.0" },
		{ chip: "esp32" },
	]);
	const releases = (["1.4.0", "1.3.0"] as const).map((version) => ({
		version,
		model: "DEV-1" as const,
		chip: "esp32s3" as const,
	}));
	await writeReleases(releasesDir, releases, "1.4.0", "Fewer drop-outs.");
	const page = await open(t, url, { view: "#/firmware", expected: /status of 4(00|13|22)/ });
	const upload = page.getByRole("region", { name: "Upload" });
	const panel = page.getByRole("region", { name: "Firmware" });
	const choose = (name: string, buffer: Buffer) =>
		upload
			.getByLabel(/Drop a .bin file/)
			.setInputFiles({ name, mimeType: "application/octet-stream", buffer });
	const show = (deviceId = "") => page.goto(`${url}/#/devices/${deviceId}/firmware`);

	await t.test("lists releases with their notes", async () => {
		await page.getByRole("region", { name: "Releases" }).getByText("Fewer drop-outs.").first().waitFor();
		await checkView(page);
	});

	await t.test("rejects what is no firmware, with a reason", async () => {
		await choose(`${"x".repeat(120)}.bin`, Buffer.from("<!doctype html>".padEnd(4000)));
		await upload
			.getByRole("alert")
			.filter({ hasText: /not a firmware image/ })
			.waitFor();
		await checkView(page);
		await choose("device.bin.sig", Buffer.from("x"));
		await sees(upload.getByRole("alert"), /^Select the .bin file together with its .sig file/);
	});

	await t.test("accepts an image, chosen or dropped", async () => {
		await choose("device.bin", makeImage({ version: "1.2.4" }));
		await upload.getByText("device.bin uploaded.").waitFor();
		await upload.getByText(/1\.2\.4 · DEV-1 · esp32s3/).waitFor();
		await checkView(page);
		await drop(page, makeImage({ segments: [] }));
		await upload.getByText("dropped.bin uploaded.").waitFor();
	});

	await t.test("is installed with increasing progress, until the device is back with it", async () => {
		await show(updating);
		await panel.getByText("Update 1.4.0 available").waitFor();
		await checkView(page);
		await panel.getByRole("button", { name: "Update to 1.4.0" }).click();
		await fleet[0]?.offered;
		const shown: number[] = [];
		for (const percent of [20, 55, 40, 56]) {
			fleet[0]?.progress(percent);
			await panel.getByText(`Downloading ${Math.max(percent, ...shown)} %`).waitFor();
			shown.push(Number(await panel.getByRole("progressbar").getAttribute("value")));
		}
		assert.deepEqual(shown, [20, 55, 55, 56]);
		await checkView(page);
		await fleet[0]?.finish("updates");
		await panel.getByText("Updated to 1.4.0").waitFor();
		await panel.getByText("Runs 1.4.0").waitFor();
	});

	await t.test("tells why an update was rolled back, also after a reload", async () => {
		await show(reverting);
		await panel.getByRole("button", { name: "Update to 1.4.0" }).click();
		await panel.getByText("1.2.3 → 1.4.0 rolled back").waitFor();
		await page.reload();
		await sees(panel.getByRole("list", { name: "Previous updates" }), "the new firmware ended: crashed");
		await checkView(page);
	});

	await t.test("offers a device only what it does not run and what fits its chip", async () => {
		await show(current);
		await panel.getByText("1.4.0 is already installed").waitFor();
		assert.equal(await panel.getByRole("button").count(), 0);
		await disclose(panel, "Another version");
		await panel.getByLabel("Version").selectOption("1.3.0");
		await panel.getByRole("button", { name: "Downgrade to 1.3.0" }).click();
		await panel.getByText("1.4.0 → 1.3.0 updated").waitFor();
		await show(otherChip);
		await panel.getByText("No firmware for this device.").waitFor();
		assert.equal(await panel.getByRole("button").count(), 0);
	});
});
