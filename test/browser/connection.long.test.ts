import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { skip } from "../support/chromium.js";
import { waitUntil } from "../support/eventually.js";
import { runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { browsing, gatewayAway } from "./browsing.js";

const open = browsing();
describe("gateway restart", { skip }, () => {
	test("shows the outage with the age of the state, and reconnects", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir });
		const { url } = first;
		const stays = await new ScriptedDevice({ url, deviceId: "dev-1-aaaaaa" }).connect();
		const goes = await new ScriptedDevice({ url, deviceId: "dev-1-bbbbbb" }).connect();
		t.after(() => {
			for (const device of [stays, goes]) device.close();
		});
		const page = await open(t, url);
		await page.getByText("2 of 2 connected").waitFor();

		await first.gateway.close();
		await page.getByText("Gateway is restarting.").waitFor();
		await page.getByText(/Data from (just now|\d+ s ago)/).waitFor();
		await page.getByText("Reconnecting…").waitFor();
		assert.equal(await page.locator(".device-row").count(), 2, "what was known is still shown");
		await page.getByText("2 of 2 were connected").waitFor();
		await page.getByRole("button", { name: "Table" }).click();
		const unknown = page.getByRole("row", { name: "dev-1-aaaaaa" }).getByText("Unknown");
		await unknown.waitFor();
		const dot: string = await page.evaluate(
			`getComputedStyle(document.querySelector(".of-state .presence"), "::before").backgroundColor`,
		);
		assert.equal(dot, "rgba(0, 0, 0, 0)", "no green dot");
		assert.equal(
			await page
				.locator("main")
				.getByText(/^Connected|^now$/)
				.count(),
			0,
		);

		await runGateway(t, { dataDir, port: Number(new URL(url).port) });
		await stays.connect();
		await page.getByText("Live").waitFor();
		await page.getByText("1 of 2 connected").waitFor();
		assert.equal(await gatewayAway(page).count(), 0);
	});

	test("loads a view opened during the outage", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const { gateway, url } = await runGateway(t, { dataDir });
		const page = await open(t, url, {
			view: "#/wifi",
			expected: /Failed to load|ERR_FAILED/,
			prepare: async (context) => {
				await context.route("**/assets/later-*.js", (route) => route.abort());
			},
		});
		await page.getByText("This view could not be loaded.").waitFor();
		await page.context().unroute("**/assets/later-*.js");
		await gateway.close();
		await gatewayAway(page).waitFor();
		await runGateway(t, { dataDir, port: Number(new URL(url).port) });
		await page.getByText("0 Wi-Fi networks").waitFor();
	});

	test("keeps the current view, with controls disabled during the outage", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir });
		const { url } = first;
		const device = await new ScriptedDevice({
			url,
			deviceId: "dev-1-aaaaaa",
			executesCommands: false,
		}).connect();
		t.after(() => device.close());
		const page = await open(t, url, { view: "#/device/dev-1-aaaaaa" });
		const volume = page.getByLabel("Volume", { exact: true });
		await volume.fill("80");
		await page.getByText("sending").first().waitFor();
		await first.gateway.close();
		await page.locator("input[type=range]:disabled").first().waitFor();
		await runGateway(t, { dataDir, port: Number(new URL(url).port) });
		device.set({ "peripherals.audio.volume": 80 });
		await device.connect();
		await page.locator("input[type=range]:enabled").first().waitFor();
		await page.locator(".sending").waitFor({ state: "detached" });
		// The report follows the summary, which enables the controls.
		await page.locator(".control", { hasText: "Volume" }).getByText("80", { exact: true }).waitFor();
		assert.equal(await volume.inputValue(), "80");
	});

	test("reconnects immediately on a click", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir });
		const page = await open(t, first.url);
		await page.getByText("No devices yet").waitFor();
		await page.clock.install();
		await first.gateway.close();
		await gatewayAway(page).waitFor();
		await page.clock.pauseAt(Date.now() + 60_000);
		await runGateway(t, { dataDir, port: Number(new URL(first.url).port) });
		await page.getByRole("button", { name: "Retry now" }).click();
		await page.clock.resume();
		await page.getByText("Live").waitFor();
	});

	test("leads to the login if the monitor token has changed", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const first = await runGateway(t, { dataDir });
		const page = await open(t, first.url, { expected: /401/ });
		await page.getByText("Live").waitFor();
		await first.gateway.close();
		const port = Number(new URL(first.url).port);
		await runGateway(t, { dataDir, port, monitorToken: "another-token-of-the-tests" });
		await page.getByLabel("Access token").waitFor();
	});
});

test("detects a connection lost without a close frame", { skip }, async (t) => {
	const { url } = await runGateway(t);
	const page = await open(t, url, { expected: /ERR_TIMED_OUT/ });
	await page.clock.install();
	await page.reload();
	await page.getByText("Live").waitFor();
	await page.route("**/readyz", (route) => route.abort("timedout"));
	await page.route("**/login/state", (route) => route.abort("timedout"));
	await page.clock.fastForward(21_000);
	await gatewayAway(page).waitFor();
	await page.unrouteAll();
	await page.clock.fastForward(20_000);
	await page.getByText("Live").waitFor();
});

test("keeps a connection with incoming reports although a response is late", {
	skip,
}, async (t) => {
	const { url } = await runGateway(t);
	const device = await new ScriptedDevice({ url, deviceId: "dev-1-aaaaaa" }).connect();
	t.after(() => device.close());
	const page = await open(t, url, { expected: /ERR_TIMED_OUT/ });
	await page.clock.install();
	await page.reload();
	await page.getByText("1 of 1 connected").waitFor();
	let late = 0;
	await page.route("**/readyz", async (route) => {
		device.report({ "peripherals.audio.volume": 71 });
		await page.getByText("71", { exact: true }).waitFor();
		await route.abort("timedout");
		late += 1;
	});
	await page.clock.fastForward(21_000);
	await waitUntil(() => late !== 0);
	await setTimeout(200);
	assert.equal(await gatewayAway(page).count(), 0);
	await page.getByText("Live").waitFor();
	await page.unrouteAll();
});
