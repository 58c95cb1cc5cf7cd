import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Locator } from "playwright-core";
import { skip } from "../support/chromium.js";
import { runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();
const field = (panel: Locator, label: string) => panel.getByLabel(label, { exact: true });

async function setUp(t: TestContext, options: Partial<ScriptedDeviceOptions> = {}) {
	const { url } = await runGateway(t);
	const device = await new ScriptedDevice({ url, deviceId: "dev-1-a1b2c3", ...options }).connect();
	t.after(() => device.close());
	const page = await open(t, url, { view: "#/devices/dev-1-a1b2c3/settings" });
	const panel = page.getByRole("region", { name: "Settings", exact: true });
	return { url, device, page, panel };
}

describe("the settings of a device", { skip }, () => {
	test("are sent if filled in, tried and saved; the page shows when, also after a reload", async (t) => {
		const { device, page, panel } = await setUp(t, { executesCommands: false });
		await field(panel, "Wi-Fi name").fill("workshop");
		await field(panel, "Wi-Fi password").fill("correct horse");
		await panel.getByText("Advanced").click();
		await field(panel, "Default server").check();
		await panel.getByRole("button", { name: "Apply" }).click();
		await panel.getByRole("status").getByText("trying new settings").waitFor();
		await page.getByText(/^(2 min|1 min \d+ s) left to reach a gateway$/).waitFor();
		await device.receives({
			command: "set_settings",
			value: { ssid: "workshop", password: "correct horse", sntp: "" },
		});
		assert.equal(await field(panel, "Wi-Fi password").inputValue(), "");
		assert.equal(await panel.getByRole("button", { name: "Apply" }).isDisabled(), true);
		device.close();
		await device.connect();
		device.endTrial();
		await panel.getByText(/^Saved \d/).waitFor();
		await panel.getByRole("button", { name: "Apply" }).click();
		assert.equal(await field(panel, "Wi-Fi name").inputValue(), "", "the page forgets them");
		assert.equal(device.commands.length, 1, "nothing filled in, nothing sent");
		await page.reload();
		await panel.getByText(/^Saved \d/).waitFor();
	});

	test("show the reason if the device reverts them", async (t) => {
		const { panel } = await setUp(t, { settingsProblem: "the gateway rejected the token (401)" });
		await field(panel, "Token").fill("wrong-token");
		await panel.getByRole("button", { name: "Apply" }).click();
		await panel.getByRole("alert").getByText("The gateway rejected the token (401).").waitFor();
		assert.equal(await panel.getByText("Saved").count(), 0);
	});

	test("are rejected by the gateway with a message if invalid", async (t) => {
		const { device, page, panel } = await setUp(t);
		await field(panel, "Wi-Fi password").fill("correct horse");
		await panel.getByText("Advanced").click();
		await field(panel, "Certificate authority (PEM)").fill("x".repeat(100_000));
		await panel.getByRole("button", { name: "Apply" }).click();
		await panel.getByRole("alert").getByText("Certificate authority (PEM) must be").waitFor();
		assert.equal(await field(panel, "Wi-Fi password").inputValue(), "");
		await field(panel, "Certificate authority (PEM)").fill("");
		await panel.getByLabel("Gateway address").fill("http://gateway");
		await panel.getByRole("button", { name: "Apply" }).click();
		const answer = panel.getByRole("alert");
		await answer.getByText(/^Gateway address must be an address like ws/).waitFor();
		const wrong = panel.locator("input[aria-invalid=true]");
		assert.equal(await wrong.getAttribute("aria-describedby"), await answer.getAttribute("id"));
		assert.equal(await wrong.inputValue(), "http://gateway", "to be corrected");
		await page.getByRole("link", { name: "Diagnostics" }).click();
		await page
			.locator(".device-notice")
			.getByText("New settings failed. Previous settings restored.")
			.waitFor();
		await page.locator(".device-notice").getByRole("link", { name: "Settings" }).click();
		await wrong.fill("ws://gateway");
		await wrong.waitFor({ state: "detached" });
		assert.deepEqual(device.commands, []);
	});

	test("time out if the device does not respond", async (t) => {
		const { page, panel } = await setUp(t, { executesCommands: false });
		// The page would load on the fake clock.
		await panel.waitFor();
		await page.clock.install();
		await panel.getByText("Advanced").click();
		await field(panel, "Time server").fill("time.example");
		await panel.getByRole("button", { name: "Apply" }).click();
		await panel.getByText("trying new settings").waitFor();
		await page.clock.fastForward(6 * 60_000);
		await panel.getByRole("alert").getByText("No result received.").waitFor();
	});

	test("are hidden if the firmware does not support them", async (t) => {
		const { page, panel } = await setUp(t, { features: ["identify"] });
		await page.getByText("This firmware does not support new settings.").waitFor();
		assert.equal(await panel.count(), 0);
	});

	test("can create a token for the device alone", async (t) => {
		const { device, panel } = await setUp(t);
		await panel.getByRole("button", { name: "Replace token" }).click();
		await panel.getByText("Saved").waitFor();
		const { command, value } = device.commands.at(-1) ?? {};
		assert.equal(command, "set_settings");
		assert.match(JSON.stringify(value), /^\{"token":"dev-1-a1b2c3\.[\w-]+"\}$/);
	});
});

test("marks a device in safe mode in the list and on its page", { skip }, async (t) => {
	const { page } = await setUp(t, { report: { "health.safe_mode": true } });
	await page.getByText("Three starts failed.").waitFor();
	await page.goto(page.url().replace(/#.*/, "#/"));
	await page.locator(".device-row").getByText("safe mode").waitFor();
});

describe("one setting of all devices", { skip }, () => {
	async function fleet(t: TestContext, problems: readonly (string | undefined)[]) {
		const { url } = await runGateway(t);
		const devices: ScriptedDevice[] = [];
		for (const [index, settingsProblem] of problems.entries()) {
			const deviceId = `dev-1-00000${index}`;
			const device = new ScriptedDevice({ url, deviceId, ...(settingsProblem && { settingsProblem }) });
			devices.push(await device.connect());
			t.after(() => device.close());
		}
		const old = await new ScriptedDevice({ url, deviceId: "dev-1-older0", features: [] }).connect();
		t.after(() => old.close());
		const page = await open(t, url, { view: "#/settings/devices" });
		await page.getByText(`${problems.length} of ${problems.length + 1} devices can receive`).waitFor();
		const confirm = async (name: string) => {
			await page.getByRole("button", { name }).click();
			await page.getByRole("dialog").getByRole("button", { name }).click();
		};
		return { devices, old, page, confirm };
	}

	test("gives each device its own token, a few at a time", async (t) => {
		const { devices, old, page, confirm } = await fleet(
			t,
			Array.from({ length: 7 }, () => undefined),
		);
		await page.getByLabel("At a time").selectOption("2");
		await page.getByRole("button", { name: "Replace the tokens of 7 devices" }).click();
		await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
		assert.deepEqual(
			devices.flatMap(({ commands }) => commands),
			[],
		);
		await confirm("Replace the tokens of 7 devices");
		await page.getByText("New tokens: 7 devices").waitFor();
		const tokens = devices.map(({ commands }) => JSON.stringify(commands));
		assert.equal(new Set(tokens).size, 7);
		for (const [index, text] of tokens.entries()) assert.match(text, new RegExp(`dev-1-00000${index}\\.`));
		assert.deepEqual(old.commands, []);
	});

	test("stops at the first failure, and shows which devices are done", async (t) => {
		const { devices, page, confirm } = await fleet(t, [
			undefined,
			"the gateway rejected the token (401)",
			undefined,
			undefined,
		]);
		await page.getByLabel("At a time").selectOption("1");
		await page.getByLabel("New address").fill("wss://moved.example/device");
		await confirm("Move 4 devices");
		const progress = page.getByRole("region", { name: "To wss://moved.example/device" });
		await progress.getByText("1 failed, 2 canceled, 1 done").waitFor();
		await progress.getByRole("button", { name: "Details" }).click();
		await progress.getByText("failed: The gateway rejected the token (401).").waitFor();
		assert.deepEqual(
			devices.map(({ commands }) => commands.length),
			[1, 1, 0, 0],
		);
	});
});
