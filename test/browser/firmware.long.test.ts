import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { skip } from "../support/chromium.js";
import { damaged, makeImage } from "../support/images.js";
import { runReleasedFleet } from "../support/released-fleet.js";
import { writeReleases } from "../support/releases.js";
import type { ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing, gatewayAway } from "./browsing.js";

const open = browsing();

/** Console message of Chromium for a rejected request. */
const refusedUpload = /status of 4(00|13|22)/;

/** Opens the page of a gateway with release 1.4.0 for DEV-1 and these devices, which run 1.2.3. */
async function setUp(
	t: TestContext,
	devices: readonly Partial<ScriptedDeviceOptions>[],
	view = "#/firmware",
) {
	const released = await runReleasedFleet(t, devices);
	return { ...released, page: await open(t, released.url, { view, expected: refusedUpload }) };
}

/** Drops a file named dropped.bin. */
async function drop(page: Page, content: Buffer): Promise<void> {
	const transfer = await page.evaluateHandle(
		`(() => {
			const transfer = new DataTransfer();
			transfer.items.add(new File([new Uint8Array(${JSON.stringify([...content])})], "dropped.bin"));
			return transfer;
		})()`,
	);
	await page.locator(".drop").dispatchEvent("drop", { dataTransfer: transfer });
}

describe("upload", { skip }, () => {
	const image = { name: "device.bin", mimeType: "application/octet-stream" };

	test("is accepted and preselected for the next rollout", async (t) => {
		const { page } = await setUp(t, [{}]);
		const buffer = makeImage({ version: "1.2.3" });
		await page.getByLabel(/Drop a .bin file/).setInputFiles({ ...image, buffer });
		const upload = page.getByRole("region", { name: "Upload" });
		await upload.getByText("device.bin uploaded.").waitFor();
		await upload.getByText(/1\.2\.3 · DEV-1 · esp32s3/).waitFor();
		await page.getByRole("button", { name: "New rollout" }).click();
		const form = page.getByRole("dialog", { name: "New rollout" });
		await form.getByRole("status").filter({ hasText: "1 device, 1 already up to date" }).waitFor();
		assert.equal(await form.getByRole("radio", { name: "Upload (1.2.3)" }).isChecked(), true);
		await form.getByRole("button", { name: "How careful" }).click();
		assert.equal(await form.getByRole("button", { name: "Nothing to update" }).isDisabled(), true);
	});

	test("is accepted by drag and drop", async (t) => {
		const { page } = await setUp(t, []);
		await drop(page, makeImage({ segments: [] }));
		await page.getByText("dropped.bin uploaded.").waitFor();
	});

	test("is sent after an outage if dropped or chosen during it", async (t) => {
		const { page, stopGateway } = await setUp(t, []);
		const upload = page.getByRole("region", { name: "Upload" });
		await upload.waitFor();
		const startAgain = await stopGateway();
		await gatewayAway(page).waitFor();
		await upload.getByLabel(/Drop a .bin file/).setInputFiles({ ...image, buffer: makeImage() });
		await upload.getByText("device.bin is uploaded once the gateway can be reached.").waitFor();
		await drop(page, makeImage({ segments: [] }));
		await upload.getByText("dropped.bin is uploaded once the gateway can be reached.").waitFor();
		await startAgain();
		await upload.getByText("dropped.bin uploaded.").waitFor();
	});

	test("explains which files to choose if only a signature was given", async (t) => {
		const { page } = await setUp(t, []);
		const upload = page.getByRole("region", { name: "Upload" });
		const file = { name: "device.bin.sig", mimeType: "text/plain", buffer: Buffer.from("x") };
		await page.getByText("Live").waitFor();
		await page.getByLabel(/Drop a .bin file/).setInputFiles(file);
		await upload
			.getByText("device.bin.sig was rejected: select the .bin file together with its .sig file.")
			.waitFor();
	});

	for (const [what, buffer, reason] of [
		[
			"that is no image",
			Buffer.from("<!doctype html>".padEnd(4000)),
			/was rejected: This is (an? .+, )?not a firmware image/,
		],
		["that is damaged", damaged(makeImage(), 70_000, "x"), /was rejected: .*checksum|SHA-256/],
		["that is empty", Buffer.alloc(0), /was rejected: The file is empty\./],
		[
			"that is too large",
			Buffer.alloc(17 * 1024 * 1024, 0xe9),
			/was rejected: .*(larger|MAX_UPLOAD|0xE9|segment)/,
		],
	] as const)
		test(`${what} is refused with a reason`, async (t) => {
			const { page } = await setUp(t, []);
			const name = `${"x".repeat(120)}.bin`;
			await page.getByLabel(/Drop a .bin file/).setInputFiles({ ...image, name, buffer });
			await page.getByRole("alert").filter({ hasText: reason }).waitFor();
			assert.equal(await page.getByText("uploaded").count(), 0);
			assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 1280, "a long name wraps");
		});
});

describe("update", { skip }, () => {
	test("goes from a click to `updated` with increasing progress", async (t) => {
		const { page, fleet } = await setUp(t, [{ ending: "waits" }], "#/devices/dev-1-000000/firmware");
		const panel = page.getByRole("region", { name: "Firmware" });
		await panel.getByRole("button", { name: "Update" }).click();
		await panel.getByText("Downloading 0 %").waitFor();
		await page.getByText("1.2.3").first().waitFor();
		const shown: number[] = [];
		for (const percent of [20, 55, 40, 56]) {
			fleet[0]?.progress(percent);
			await panel.getByText(`Downloading ${Math.max(percent, ...shown)} %`).waitFor();
			shown.push(Number(await panel.getByRole("progressbar").getAttribute("value")));
		}
		assert.deepEqual(shown, [20, 55, 55, 56]);
		assert.equal(await page.getByText("Downloading 56 %").count(), 1, "it is said once");
		await page.getByRole("link", { name: "Diagnostics" }).click();
		await page.locator(".device-notice").getByRole("link", { name: "Firmware" }).click();
		await fleet[0]?.finish("updates");
		await panel.getByText("Updated to 1.4.0").waitFor();
		await panel.getByText("1.2.3 → 1.4.0 updated").waitFor();
		await panel.getByText("Runs 1.4.0").waitFor();
	});

	test("shows why it was rolled back, also after a reload", async (t) => {
		const { page } = await setUp(t, [{ ending: "rolls back" }], "#/devices/dev-1-000000/firmware");
		const panel = page.getByRole("region", { name: "Firmware" });
		await panel.getByRole("button", { name: "Update" }).click();
		await panel.getByText("Rolled back", { exact: true }).waitFor();
		await panel.getByText("the new firmware ended: crashed").first().waitFor();
		await page.reload();
		const updates = panel.getByRole("list", { name: "Previous updates" });
		await updates.getByText("1.2.3 → 1.4.0 rolled back").waitFor();
		await updates.getByText("the new firmware ended: crashed").waitFor();
	});

	test("shows the reason if the gateway rejects it", async (t) => {
		const { page, releasesDir } = await setUp(t, [{}], "#/devices/dev-1-000000/firmware");
		await page.getByRole("button", { name: "Update" }).waitFor();
		await rm(join(releasesDir, "dev-1", "firmware-v1.4.0.bin"));
		await page.getByRole("button", { name: "Update" }).click();
		await page
			.getByRole("alert")
			.getByText(/The file .* is missing\. Build release 1\.4\.0 again\./)
			.waitFor();
	});

	test("shows the running version, newer ones with notes, and one button, also for another version", async (t) => {
		const { page, fleet, releasesDir } = await setUp(
			t,
			[{ ending: "waits" }],
			"#/devices/dev-1-000000/firmware",
		);
		const releases = (["1.4.0", "1.3.0"] as const).map((version) => ({
			version,
			model: "DEV-1" as const,
			chip: "esp32s3" as const,
		}));
		await writeReleases(releasesDir, releases, "1.4.0", "Fewer drop-outs.");
		await page.reload();
		const panel = page.getByRole("region", { name: "Firmware" });
		await panel.getByText("Runs 1.2.3").waitFor();
		await panel.getByText("1.4.0 is newer").waitFor();
		await panel.getByText("Fewer drop-outs.").waitFor();
		assert.deepEqual(await panel.getByRole("button").allTextContents(), ["Update to 1.4.0"]);
		await panel.getByText("Another version").click();
		await panel.getByLabel("Version").selectOption("1.3.0");
		assert.deepEqual(await panel.getByRole("button").allTextContents(), ["Update to 1.3.0"]);
		await panel.getByRole("button").click();
		await fleet[0]?.offered;
		assert.match(JSON.stringify(fleet[0]?.commands.at(-1)), /firmware-v1\.3\.0\.bin/);
	});

	test("is not offered to a device that runs it, and labels a downgrade", async (t) => {
		const { page, url, fleet } = await setUp(
			t,
			[{ version: "1.4.0" }, { version: "2.0.0" }],
			"#/devices/dev-1-000000/firmware",
		);
		const panel = page.getByRole("region", { name: "Firmware" });
		await panel.getByText("1.4.0 is already installed").waitFor();
		assert.equal(await panel.getByRole("button").count(), 0);
		await page.goto(`${url}/#/devices/dev-1-000001/firmware`);
		await panel.getByRole("button", { name: "Downgrade" }).click();
		await panel.getByText("Updated to 1.4.0").waitFor();
		assert.deepEqual(
			fleet.map(({ commands }) => commands.length),
			[0, 1],
		);
	});
});

test("shows a new release without a reload", { skip }, async (t) => {
	const { page, releasesDir } = await setUp(t, [{}], "#/firmware?new");
	await page.clock.install();
	await page.reload();
	const form = page.getByRole("dialog", { name: "New rollout" });
	await form.getByRole("radio", { name: "1.4.0 latest" }).waitFor();
	await writeReleases(releasesDir, [{ version: "1.5.0", model: "DEV-1", chip: "esp32s3" }]);
	await page.clock.runFor(11_000);
	await form.getByRole("radio", { name: "1.5.0 latest" }).waitFor();
});

test("does not offer a release without an image for the device's chip", { skip }, async (t) => {
	const { page, url } = await setUp(t, [{ chip: "esp32" }, {}], "#/devices/dev-1-000000/firmware");
	const panel = page.getByRole("region", { name: "Firmware" });
	await panel.getByText("No firmware for this device.").waitFor();
	assert.equal(await panel.getByRole("button").count(), 0);
	await page.goto(`${url}/#/firmware?devices=dev-1-000000,dev-1-000001`);
	await page.getByText("2 devices, 1 without an image").waitFor();
});

test("keeps the upload reachable on a phone in a large fleet", { skip }, async (t) => {
	const released = await runReleasedFleet(
		t,
		Array.from({ length: 300 }, () => ({})),
	);
	const viewport = { width: 390, height: 844 };
	const page = await open(t, released.url, { view: "#/firmware", viewport, hasTouch: true });
	await page.getByRole("button", { name: "New rollout" }).waitFor();
	const box = await page.getByRole("region", { name: "Upload" }).boundingBox();
	assert.ok(box && box.y < 2 * viewport.height, `the upload begins at ${box?.y} pixels`);
});
