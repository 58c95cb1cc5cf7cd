/** A person keeps two tabs open while the gateway is restarted, killed and unreachable, and the login ends. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { skip } from "../support/chromium.js";
import { eventually } from "../support/eventually.js";
import { GatewayProcess } from "../support/gateway-process.js";
import { freePort } from "../support/ports.js";
import { deviceToken, monitorToken, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { checkView } from "./axe.js";
import { browsing, gatewayAway } from "./browsing.js";

const open = browsing();

test("an outage", { skip }, async (t) => {
	const environment = {
		DATA_DIR: await temporaryDirectory(t),
		DEVICE_TOKEN: deviceToken,
		MONITOR_TOKEN: monitorToken,
	};
	const port = await freePort();
	const gateway = new GatewayProcess(t, port, environment);
	const { url } = gateway;
	await gateway.start();
	const connect = async (id: string, executesCommands = true) => {
		const device = await ScriptedDevice.join(t, { url, deviceId: `dev-1-${id}`, executesCommands });
		return device;
	};
	const silent = await connect("00000a", false);
	const other = await connect("00000b");
	const view = "#/devices/dev-1-00000a";
	const page = await open(t, url, { view, expected: /status of 40[14]|ERR_/ });
	const volume = page.getByRole("region", { name: "Overview" }).getByRole("slider", { name: "Volume" });
	await volume.and(page.locator(":enabled")).waitFor();
	const tab = await page.context().newPage();
	await tab.goto(url);
	await tab.getByText("2 of 2 connected").waitFor();
	const both = [page, tab];

	await t.test("is shown in both tabs, with the last values, and no device as connected", async () => {
		await volume.fill("80");
		await page.getByText("sending").first().waitFor();
		await gateway.kill();
		for (const shown of both) await gatewayAway(shown).waitFor();
		await volume.and(page.locator(":disabled")).waitFor();
		await page.getByRole("img", { name: "LED ring: unknown" }).waitFor();
		await page.getByText("Showing values from").waitFor();
		await tab.getByText("2 of 2 were connected").waitFor();
		await tab.getByRole("button", { name: "Table" }).click();
		await tab.getByRole("row", { name: "dev-1-00000b" }).getByText("Unknown").waitFor();
		assert.equal(
			await tab
				.getByRole("main")
				.getByText(/^Connected|^now$/)
				.count(),
			0,
		);
		await checkView(tab);
		await checkView(page);
	});

	await t.test("allows to look at other views meanwhile", async () => {
		await tab.getByRole("link", { name: "Firmware" }).click();
		await tab.getByRole("heading", { level: 1, name: "Firmware" }).waitFor();
		await tab.getByRole("button", { name: "New rollout" }).waitFor();
		await checkView(tab);
		await tab.getByRole("link", { name: "Home" }).click();
		await gatewayAway(tab).waitFor();
	});

	await t.test("ends by itself: each tab keeps its view, and shows what has changed", async () => {
		await gateway.start();
		silent.set({ "peripherals.audio.volume": 80 });
		await silent.connect();
		for (const shown of both) await gatewayAway(shown).waitFor({ state: "detached" });
		await volume.and(page.locator(":enabled")).waitFor();
		await page.getByText("sending").waitFor({ state: "detached" });
		const readVolume = () => volume.inputValue();
		await eventually(readVolume, (value) => value === "80");
		assert.equal(page.url(), `${url}/${view}`);
		await tab.getByText("1 of 2 connected").waitFor();
		await other.connect();
		await tab.getByText("2 of 2 connected").waitFor();
	});

	await t.test("keeps the view across a reload, also of tabs, history and deep links", async () => {
		const parts = page.getByRole("navigation", { name: "Parts of this page" });
		for (const name of ["Firmware", "Settings", "Diagnostics"])
			await parts.getByRole("link", { name }).click();
		await page.getByRole("region", { name: "Log" }).waitFor();
		await page.reload();
		await page.getByRole("region", { name: "Log" }).waitFor();
		await page.goBack();
		await page.getByRole("region", { name: "Settings" }).waitFor();
	});

	await t.test("leads to the login if the token is no longer valid, and back to the view", async () => {
		await gateway.kill();
		const renewed = new GatewayProcess(t, port, {
			...environment,
			MONITOR_TOKEN: "another-token-of-the-tests",
		});
		await renewed.start();
		for (const shown of both) await shown.getByLabel("Access token").waitFor();
		await page.getByLabel("Access token").fill("another-token-of-the-tests");
		await page.getByRole("button", { name: "Log in" }).click();
		await page.getByRole("heading", { level: 1, name: "dev-1-00000a" }).waitFor();
	});

	await t.test("the policy lets the page run no script but its own", async (t) => {
		const strict = await open(t, url, {
			expected: /Content Security Policy|40[134]/,
			token: "another-token-of-the-tests",
		});
		await strict.getByText("Live").waitFor();
		const ran = await strict.evaluate(`(() => {
			const script = document.createElement("script");
			script.textContent = "window.injected = 1";
			document.body.append(script);
			const image = document.createElement("div");
			image.innerHTML = "<img src=x onerror='window.injected = 2'>";
			document.body.append(image);
			return new Promise((done) => setTimeout(() => done(typeof injected), 200));
		})()`);
		assert.equal(ran, "undefined");
	});
});
