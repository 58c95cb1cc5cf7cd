import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { skip } from "../support/chromium.js";
import { damaged, makeImage } from "../support/images.js";
import { writeReleases } from "../support/releases.js";
import { bearer, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";
import { type Ending, ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();

/** Chromium logs refused requests itself. */
const refusedUpload = /status of 4(00|13|22)/;

/** A gateway with a release 1.4.0 for DEV-1, and these devices, which run 1.2.3. */
async function setUp(
	t: TestContext,
	devices: readonly Partial<ScriptedDeviceOptions>[],
	view = "#/firmware",
) {
	const dataDir = await temporaryDirectory(t);
	const releasesDir = join(dataDir, "releases");
	await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
	const { url } = await runGateway(t, { dataDir, releasesDir, limits: { snapshotPauseMs: 10 } });
	const fleet = await Promise.all(
		devices.map((device, index) =>
			new ScriptedDevice({ url, deviceId: `dev-1-00000${index}`, ...device }).connect(),
		),
	);
	t.after(() => {
		for (const device of fleet) device.close();
	});
	return { url, releasesDir, fleet, page: await open(t, url, { view, expected: refusedUpload }) };
}

function row(page: Page, index: number) {
	return page.locator(".row", { hasText: `dev-1-00000${index}` });
}

describe("an upload", { skip }, () => {
	const image = { name: "device.bin", mimeType: "application/octet-stream" };

	test("is accepted, and can be rolled out", async (t) => {
		const { page } = await setUp(t, [{}]);
		const buffer = makeImage({ version: "2.0.0-rc.1" });
		await page.getByLabel(/Drop a .bin here/).setInputFiles({ ...image, buffer });
		const upload = page.getByRole("region", { name: "Upload" });
		await upload.getByText("device.bin is in place.").waitFor();
		await upload.getByText(/2\.0\.0-rc\.1 · DEV-1 · esp32s3/).waitFor();
		await page
			.getByRole("combobox", { name: "To", exact: true })
			.selectOption({ label: "The upload (2.0.0-rc.1)" });
		await page.getByRole("button", { name: "Update all outdated (1)" }).waitFor();
	});

	test("is accepted by drag and drop", async (t) => {
		const { page } = await setUp(t, []);
		const bytes = JSON.stringify([...makeImage({ segments: [] })]);
		const transfer = await page.evaluateHandle(
			`(() => {
				const transfer = new DataTransfer();
				transfer.items.add(new File([new Uint8Array(${bytes})], "dropped.bin"));
				return transfer;
			})()`,
		);
		await page.locator(".drop").dispatchEvent("drop", { dataTransfer: transfer });
		await page.getByText("dropped.bin is in place.").waitFor();
	});

	for (const [what, buffer, reason] of [
		[
			"that is no image",
			Buffer.from("<!doctype html>".padEnd(4000)),
			/was refused: This is (an? .+, )?no firmware image/,
		],
		["that is damaged", damaged(makeImage(), 70_000, "x"), /was refused: .*checksum|SHA-256/],
		["that is empty", Buffer.alloc(0), /was refused: The file is empty\./],
		[
			"that is too large",
			Buffer.alloc(17 * 1024 * 1024, 0xe9),
			/was refused: .*(larger|MAX_UPLOAD|0xE9|segment)/,
		],
	] as const)
		test(`${what} is refused with a reason`, async (t) => {
			const { page } = await setUp(t, []);
			await page.getByLabel(/Drop a .bin here/).setInputFiles({ ...image, buffer });
			await page.getByRole("alert").filter({ hasText: reason }).waitFor();
			assert.equal(await page.getByText("is in place").count(), 0);
		});
});

describe("an update", { skip }, () => {
	test("goes from a click to `updated`, by progress that only grows", async (t) => {
		const { page, fleet } = await setUp(t, [{ ending: "waits" }], "#/device/dev-1-000000");
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
		await fleet[0]?.finish("updates");
		await panel.getByText("Updated to 1.4.0").waitFor();
		await panel.getByText("1.2.3 → 1.4.0 updated").waitFor();
		await page.getByText("Firmware 1.4.0").waitFor();
	});

	test("that was rolled back says why, here and in the history, and after a reload", async (t) => {
		const { page } = await setUp(t, [{ ending: "rolls back" }], "#/device/dev-1-000000");
		const panel = page.getByRole("region", { name: "Firmware" });
		await panel.getByRole("button", { name: "Update" }).click();
		await panel.getByText("Rolled back", { exact: true }).waitFor();
		await panel.getByText("the new firmware ended with PANIC_RESET").first().waitFor();
		await page.goto(page.url().replace(/#.*/, "#/firmware"));
		await page.reload();
		const history = page.getByRole("region", { name: "History" });
		await history.getByText("1.2.3 → 1.4.0 rolled back").waitFor();
		await history.getByText("the new firmware ended with PANIC_RESET").waitFor();
	});

	test("that the gateway refuses shows the reason", async (t) => {
		const { page, releasesDir } = await setUp(t, [{}]);
		await page.getByLabel("Update dev-1-000000").waitFor();
		await rm(join(releasesDir, "dev-1", "firmware-v1.4.0.bin"));
		await page.getByLabel("Update dev-1-000000").click();
		await page.getByText("Done, 1 device to 1.4.0: 1 refused").waitFor();
		await page
			.getByText(/dev-1-000000 refused: The file .* is missing; make release 1\.4\.0 again\./)
			.waitFor();
	});
});

describe("a roll-out", { skip }, () => {
	const five = (ending: Ending) => Array.from({ length: 5 }, () => ({ ending }) as const);

	test("of all outdated devices updates them, a few at a time, and no others", async (t) => {
		const { page, fleet } = await setUp(t, [...five("waits"), { version: "1.4.0" }, { version: "2.0.0" }]);
		await page.getByLabel("At a time").selectOption("2");
		await page.getByRole("button", { name: "Update all outdated (5)" }).click();
		await page.getByText("2 under way, 3 to come").waitFor();
		const begun = () => fleet.filter(({ commands }) => commands.length > 0).length;
		for (const [index, device] of fleet.slice(0, 5).entries()) {
			await row(page, index).getByText("Downloading 0 %").waitFor();
			if (index < 4)
				await row(page, index + 1)
					.getByText("Downloading 0 %")
					.waitFor();
			assert.equal(begun(), Math.min(index + 2, 5), "as many as may run at a time, and no more");
			await device.finish("updates");
			await row(page, index).getByText("Updated to 1.4.0").waitFor();
		}
		await page.getByText("Done, 5 devices to 1.4.0: 5 updated").waitFor();
		assert.deepEqual(
			fleet.map(({ commands }) => commands.length),
			[1, 1, 1, 1, 1, 0, 0],
		);
		await page.getByRole("button", { name: "Update all outdated (0)" }).waitFor();
	});

	test("stops after failures, and shows the reasons", async (t) => {
		const { page, fleet } = await setUp(t, five("fails"));
		await page.getByLabel("At a time").selectOption("1");
		await page.getByRole("button", { name: "Update all outdated (5)" }).click();
		await page.getByText("Stopped after failures, 5 devices to 1.4.0: 2 failed, 3 not begun").waitFor();
		await page.getByText("HTTP connection failed (-1)").nth(1).waitFor();
		assert.equal(fleet.filter(({ commands }) => commands.length > 0).length, 2);
	});

	test("of selected devices can be cancelled for those that have not begun", async (t) => {
		const { page, fleet } = await setUp(t, five("waits"));
		for (const index of [0, 1, 3]) await page.getByLabel(`Select dev-1-00000${index}`).check();
		await page.getByLabel("At a time").selectOption("1");
		await page.getByRole("button", { name: "Update selected (3)" }).click();
		await page.getByRole("button", { name: "Cancel the 2 to come" }).click();
		await page.getByText("1 under way, 2 not begun").waitFor();
		await fleet[0]?.finish("updates");
		await page.getByText("Done, 3 devices to 1.4.0: 1 updated, 2 not begun").waitFor();
		assert.deepEqual(
			fleet.map(({ commands }) => commands.length),
			[1, 0, 0, 0, 0],
		);
	});

	test("continues without a device that is forgotten meanwhile", async (t) => {
		const { page, url, fleet } = await setUp(t, [{ ending: "waits" }, { ending: "updates" }]);
		await page.getByLabel("At a time").selectOption("1");
		await page.getByRole("button", { name: "Update all outdated (2)" }).click();
		await row(page, 0).getByText("Downloading 0 %").waitFor();
		fleet[0]?.close();
		await row(page, 0).getByText("away").waitFor();
		const path = `${url}/api/devices/dev-1-000000`;
		const { status } = await fetch(path, { method: "DELETE", headers: bearer(monitorToken) });
		assert.equal(status, 204);
		await page.getByText("Done, 2 devices to 1.4.0: 1 updated, 1 failed").waitFor();
		await page.getByText("dev-1-000000 failed: The device was forgotten while it was away.").waitFor();
	});

	test("continues where it was after the gateway was away", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const releasesDir = join(dataDir, "releases");
		await writeReleases(releasesDir, [{ version: "1.4.0", model: "DEV-1", chip: "esp32s3" }]);
		const first = await runGateway(t, { dataDir, releasesDir });
		const { url } = first;
		const fleet = await Promise.all(
			[0, 1].map((index) =>
				new ScriptedDevice({ url, deviceId: `dev-1-00000${index}`, ending: "waits" }).connect(),
			),
		);
		t.after(() => {
			for (const device of fleet) device.close();
		});
		const page = await open(t, url, { view: "#/firmware" });
		await page.getByLabel("At a time").selectOption("1");
		await page.getByRole("button", { name: "Update all outdated (2)" }).click();
		await row(page, 0).getByText("Downloading 0 %").waitFor();
		await first.gateway.close();
		await page.getByText("The gateway cannot be reached.").waitFor();
		await runGateway(t, { dataDir, releasesDir, port: Number(new URL(url).port) });
		await fleet[0]?.connect();
		await fleet[1]?.connect();
		await page.getByText("Live").waitFor();
		await fleet[0]?.finish("updates");
		await row(page, 1).getByText("Downloading 0 %").waitFor();
		await fleet[1]?.finish("updates");
		await page.getByText("Done, 2 devices to 1.4.0: 2 updated").waitFor();
	});
});
