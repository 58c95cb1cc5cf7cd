import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Page } from "playwright-core";
import { WebSocket } from "ws";
import { skip } from "../support/chromium.js";
import { runFleet } from "../support/fleet.js";
import { bearer, deviceToken, monitorToken, noRateLimits, runGateway } from "../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../support/scripted-device.js";
import { browsing } from "./browsing.js";

const open = browsing();

async function names(page: Page): Promise<readonly string[]> {
	return page.locator(".device-row h2").allTextContents();
}

describe("fleet", { skip }, () => {
	test("shows virtual devices as they connect, change and disconnect", async (t) => {
		const { url, powerOn } = await runFleet(t);
		const page = await open(t, url);
		await page.getByText("No devices yet").waitFor();
		const { device, control } = await powerOn("DEV-1");
		await powerOn("PROTO-1", { serial: "00beef" });
		const card = page.locator(".device-row", { hasText: "dev-1-020000a1b2c3" });
		await card.getByRole("img", { name: "LED ring: rainbow, 50%" }).waitFor();
		await card.getByText("50", { exact: true }).waitFor();
		await page.getByText("2 of 2 connected").waitFor();
		await control({ command: "set_volume", value: 12 });
		await control({ command: "set_led", value: "idle" });
		await card.getByText("12", { exact: true }).waitFor();
		await card.getByRole("img", { name: "LED ring: off" }).waitFor();
		await device.close();
		await card.getByText(/^Away since \d\d:\d\d$/).waitFor();
		await card.getByRole("img", { name: "LED ring: unknown" }).waitFor();
		await page.getByText("1 of 2 connected").waitFor();
		await card.getByRole("link").click();
		await page.getByRole("heading", { name: "dev-1-020000a1b2c3" }).waitFor();
		assert.equal(await page.getByRole("slider").first().isDisabled(), true);
	});

	test("shows rejected devices with the reason while the fleet is empty", async (t) => {
		const { url } = await runGateway(t);
		const socket = new WebSocket(`${url.replace("http", "ws")}/device`, {
			headers: { "Device-Id": "dev-1-0000aa", ...bearer("a-token-that-is-not-the-right-one") },
		});
		await new Promise((resolve) => socket.once("error", resolve));
		const page = await open(t, url);
		const rejected = page.getByRole("list", { name: "Rejected devices" });
		await rejected.getByText("dev-1-0000aa").waitFor();
		await rejected.getByRole("button", { name: "Rejected" }).click();
		await page
			.getByRole("dialog")
			.getByText(/Missing or invalid token/)
			.first()
			.waitFor();
	});

	test("renders the ring as the device shows it", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const device = await new ScriptedDevice({ url, deviceId: "dev-1-a1b2c3" }).connect();
		t.after(() => device.close());
		// Chromium warns about reading pixels back.
		const page = await open(t, url, { expected: /willReadFrequently/ });
		/** Color of the top pixel once it has changed. */
		const pixel = async (state: number, look: string, brightness: number): Promise<readonly number[]> => {
			device.report({
				"peripherals.led_ring.state_id": state,
				"peripherals.led_ring.brightness_coef": brightness,
			});
			await page.getByRole("img", { name: `LED ring: ${look}` }).waitFor();
			await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
			return page.evaluate(`(() => {
				const canvas = document.querySelector(".device-row canvas");
				const [x, y] = [canvas.width * 0.5, canvas.height * 0.075];
				return [...canvas.getContext("2d").getImageData(x, y, 1, 1).data];
			})()`);
		};
		const [red = 0, green = 0, blue = 0] = await pixel(2, "red, 100%", 1);
		assert.ok(red > 200 && green < 60 && blue < 60, `solid red, not ${[red, green, blue]}`);
		const [dimRed = 0] = await pixel(2, "red, 20%", 0.2);
		assert.ok(dimRed < red - 50, "darker at a lower brightness");
		const blues = await pixel(6, "pulsing blue", 0.9);
		assert.ok((blues[2] ?? 0) > 180 && (blues[0] ?? 255) < 60, `blue, not ${blues}`);
		const orange = await pixel(4, "orange, 90%", 0.9);
		assert.ok(
			(orange[0] ?? 0) > 200 && (orange[1] ?? 0) > 80 && (orange[2] ?? 255) < 60,
			`orange, not ${orange}`,
		);
		const off = await pixel(0, "off", 0.9);
		assert.ok(Math.max(...off.slice(0, 3)) < 80, `off, not ${off}`);
	});

	test("animates rings while a sound plays, except with prefers-reduced-motion", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const device = await new ScriptedDevice({ url, deviceId: "dev-1-a1b2c3" }).connect();
		t.after(() => device.close());
		const changes = `new Promise((done) => {
			const canvas = document.querySelector(".device-row canvas");
			const seen = new Set();
			let frames = 0;
			const look = () => {
				seen.add(canvas.toDataURL());
				if (++frames < 60 && seen.size < 3) requestAnimationFrame(look);
				else done(seen.size);
			};
			requestAnimationFrame(look);
		})`;
		for (const [reducedMotion, player, least, most] of [
			["no-preference", "idle", 1, 1],
			["no-preference", "playing", 3, 3],
			["reduce", "playing", 1, 1],
		] as const) {
			device.report({ "peripherals.audio.player_state": player });
			const page = await open(t, url, { reducedMotion });
			if (player === "playing") await page.getByText("Playing").waitFor();
			await page.getByRole("img", { name: "LED ring: rainbow, 50%" }).waitFor();
			await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
			const count: number = await page.evaluate(changes);
			assert.ok(count >= least && count <= most, `${reducedMotion}, ${player}: ${count} different frames`);
		}
	});

	test("can be searched, filtered and sorted", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const devices: readonly Omit<ScriptedDeviceOptions, "url">[] = [
			{ deviceId: "dev-1-aaaaaa", version: "1.0.0", report: { "network.wifi_rssi": -84 } },
			{ deviceId: "dev-1-bbbbbb", version: "1.2.0" },
			{
				deviceId: "proto-1-cccccc",
				version: "1.1.0",
				model: "PROTO-1",
				report: { "network.wifi_rssi": -70 },
			},
		];
		const fleet = await Promise.all(
			devices.map((device) => new ScriptedDevice({ url, ...device }).connect()),
		);
		t.after(() => {
			for (const device of fleet) device.close();
		});
		const page = await open(t, url);
		await page.getByText("3 of 3 connected").waitFor();
		assert.deepEqual(await names(page), ["dev-1-aaaaaa", "dev-1-bbbbbb", "proto-1-cccccc"]);

		await page.getByRole("button", { name: "Filter" }).click();
		await page.getByRole("combobox", { name: "Sort by" }).selectOption("version");
		await page.locator(".device-row").nth(2).getByRole("link", { name: "dev-1-bbbbbb" }).waitFor();
		assert.deepEqual(await names(page), ["dev-1-aaaaaa", "proto-1-cccccc", "dev-1-bbbbbb"]);
		await page.getByRole("combobox", { name: "Sort by" }).selectOption("signal");
		await page.locator(".device-row").nth(1).getByRole("link", { name: "proto-1-cccccc" }).waitFor();
		await page.getByRole("searchbox", { name: "Search" }).fill("DEV-1 bbb");
		await page.getByText("1 of 3 devices").waitFor();
		await page.getByRole("searchbox", { name: "Search" }).fill("");
		await page.getByRole("combobox", { name: "Model" }).selectOption("PROTO-1");
		await page.getByText("1 of 3 devices").waitFor();
		await page.getByRole("searchbox", { name: "Search" }).fill("nowhere");
		await page.getByText("No devices match.").waitFor();
		await page.getByRole("button", { name: "Show all" }).click();
		await page.getByText("3 of 3 connected").waitFor();
		await page.getByRole("combobox", { name: "Version" }).selectOption("1.2.0");
		await page.getByText("1 of 3 devices").waitFor();
		assert.deepEqual(await names(page), ["dev-1-bbbbbb"]);
	});

	test("removes only a forgotten device from the list and its page", async (t) => {
		const { url } = await runGateway(t, { limits: { snapshotDebounceMs: 10 } });
		const connect = (id: string) => new ScriptedDevice({ url, deviceId: `dev-1-${id}` }).connect();
		const [stays, goes] = [await connect("aaaaaa"), await connect("bbbbbb")];
		t.after(() => {
			for (const device of [stays, goes]) device.close();
		});
		const list = await open(t, url);
		await list.getByText("2 of 2 connected").waitFor();
		// It may be forgotten while the page loads its history.
		const looked = await open(t, url, { view: "#/device/dev-1-bbbbbb", expected: /404/ });
		await looked.getByLabel("Volume", { exact: true }).waitFor();
		const other = await open(t, url, { view: "#/device/dev-1-aaaaaa/log" });
		await other.getByRole("searchbox", { name: "Search the log" }).fill("battery");

		goes.close();
		await list.getByText("1 of 2 connected").waitFor();
		const path = `${url}/api/devices/dev-1-bbbbbb`;
		const { status } = await fetch(path, { method: "DELETE", headers: bearer(monitorToken) });
		assert.equal(status, 204);
		await list.getByText("1 of 1 connected").waitFor();
		assert.deepEqual(await names(list), ["dev-1-aaaaaa"]);
		await looked.getByText("Device not found: dev-1-bbbbbb").waitFor();
		stays.report({ "peripherals.audio.volume": 7 });
		await other.locator(".hero .value").getByText("7", { exact: true }).waitFor();
		const search = other.getByRole("searchbox", { name: "Search the log" });
		assert.equal(await search.inputValue(), "battery", "what a person typed is still there");

		await goes.connect();
		await list.getByText("2 of 2 connected").waitFor();
		await looked.getByRole("heading", { name: "dev-1-bbbbbb" }).waitFor();
		await looked.getByLabel("Volume", { exact: true }).and(looked.locator(":enabled")).waitFor();
	});

	test("fits five speakers in four rooms on a phone without scrolling", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const rooms = ["Kitchen", "Kitchen", "Attic", "Bathroom", "Bedroom"];
		for (const [index, room] of rooms.entries()) {
			const deviceId = `dev-1-00000${index}`;
			const device = await new ScriptedDevice({ url, deviceId }).connect();
			t.after(() => device.close());
			const headers = { ...bearer(monitorToken), "Content-Type": "application/json" };
			const body = JSON.stringify({ name: `${room} speaker ${index}`, room });
			const path = `${url}/api/devices/${deviceId}`;
			assert.equal((await fetch(path, { method: "PATCH", headers, body })).status, 200);
		}
		const page = await open(t, url, { viewport: { width: 390, height: 844 } });
		await page.locator(".device-row").nth(4).waitFor();
		const [height, wanted]: number[] = await page.evaluate(
			"[document.documentElement.scrollHeight, innerHeight]",
		);
		assert.equal(height, wanted);
		for (const volume of await page.getByRole("slider").all()) {
			const box = await volume.boundingBox();
			const bar = await page.getByRole("navigation").boundingBox();
			assert.ok(box && bar && box.y + box.height < bar.y, "no slider lies under the navigation");
		}
	});

	test("renders only the visible rows of a thousand devices", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const fleet = Array.from(
			{ length: 1000 },
			(_, index) => new ScriptedDevice({ url, deviceId: `dev-1-${String(index).padStart(6, "0")}` }),
		);
		t.after(() => {
			for (const device of fleet) device.close();
		});
		for (let from = 0; from < fleet.length; from += 100)
			await Promise.all(fleet.slice(from, from + 100).map((device) => device.connect()));
		const page = await open(t, url, { view: "#/?view=list" });
		await page.getByText("1,000 of 1,000 connected").waitFor();
		await page.locator(".device-row").first().waitFor();
		const rendered = async () => {
			const count = await page.locator(".device-row").count();
			assert.ok(count >= 12 && count < 80, `${count} rows are rendered`);
		};
		await rendered();
		for (const device of fleet) device.report({ "peripherals.audio.volume": 7 });
		await page.locator(".device-row").first().getByText("7", { exact: true }).waitFor();
		await rendered();

		await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
		await page.getByRole("link", { name: "dev-1-000999" }).waitFor();
		await rendered();
		const last = page.locator("li", { hasText: "dev-1-000999" });
		assert.deepEqual(
			[await last.getAttribute("aria-posinset"), await last.getAttribute("aria-setsize")],
			["1000", "1000"],
		);
		await last.getByText("7", { exact: true }).waitFor();
		await page.getByRole("searchbox", { name: "Search" }).fill("000500");
		await page.getByText("1 of 1,000 devices").waitFor();
		assert.deepEqual(await names(page), ["dev-1-000500"]);
	});

	test("keeps the focused row while the page scrolls", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const fleet = Array.from(
			{ length: 200 },
			(_, index) => new ScriptedDevice({ url, deviceId: `dev-1-${String(index).padStart(6, "0")}` }),
		);
		t.after(() => {
			for (const device of fleet) device.close();
		});
		await Promise.all(fleet.map((device) => device.connect()));
		const page = await open(t, url, { view: "#/?view=list" });
		await page.getByText("200 of 200 connected").waitFor();
		await page.getByRole("link", { name: "dev-1-000003" }).focus();
		await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
		await page.getByRole("link", { name: "dev-1-000199" }).waitFor();
		assert.equal(await page.getByRole("link", { name: "dev-1-000010" }).count(), 0);
		await page.keyboard.press("Enter");
		await page.getByRole("heading", { name: "dev-1-000003" }).waitFor();
	});
});

describe("empty fleet", { skip }, () => {
	test("explains how to add a device, with this gateway's address, and its token on request", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const page = await open(t, url);
		const address = `${url.replace("http", "ws")}/device`;
		const command = (token: string) =>
			`DEVICE_TOKEN=${token} npm run device -- --model proto-1 --gateway ${address}`;
		await page.getByText(command("<device token>")).waitFor();
		assert.equal((await page.content()).includes(deviceToken), false);
		await page.getByRole("button", { name: "Show device token" }).click();
		await page.getByText(command(deviceToken)).waitFor();
		await page
			.getByText(
				`npm run flash -- dev-1 ssid=<name> password=<password> gateway=${address} token=${deviceToken}`,
			)
			.waitFor();
		await page.getByRole("button", { name: "Hide device token" }).click();
		await page.getByText(command("<device token>")).waitFor();
	});

	test("handles a malformed percent escape in the URL", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const page = await open(t, url);
		for (const [hash, words] of [
			["#/device/%E0%A4%A", "Device not found: %E0%A4%A"],
			["#/firmware?devices=%E0%A4%A", "Drop a .bin file"],
			["#/?search=%E0%A4%A", "npm run device"],
		] as const) {
			await page.getByText("npm run device").first().waitFor();
			await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
			await page.getByText(words).first().waitFor();
			// "New rollout" is open for these devices.
			if (hash.includes("devices=")) await page.keyboard.press("Escape");
			await page.getByRole("navigation").getByRole("link", { name: "Home" }).click();
		}
	});

	test("reports a URL without a device", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const page = await open(t, url, { view: "#/device/dev-1-unknown" });
		await page.getByText("Device not found: dev-1-unknown").waitFor();
	});
});

describe("login", { skip }, () => {
	test("rejects a wrong token with a reason, and accepts the right one", async (t) => {
		const { url } = await runGateway(t, noRateLimits);
		const page = await open(t, url, { expected: /401/ });
		await page.context().clearCookies();
		await page.goto(`${url}/`);
		await page.getByRole("heading", { name: "Device gateway" }).waitFor();
		// The fragment is kept for deep links.
		assert.match(page.url(), /\/login(#|$)/);
		await page.getByLabel("Access token").fill("wrong-token-wrong-token");
		await page.getByRole("button", { name: "Log in" }).click();
		await page.getByText("Invalid access token.").waitFor();
		await page.getByLabel("Access token").fill(monitorToken);
		await page.getByRole("button", { name: "Log in" }).click();
		await page.getByText("Live").waitFor();
		const otherTab = await page.context().newPage();
		await otherTab.goto(`${url}/`);
		await otherTab.getByText("Live").waitFor();
		await page.getByRole("button", { name: "Log out" }).click();
		await page.getByLabel("Access token").waitFor();
		await otherTab.getByLabel("Access token").waitFor();
	});

	test("rejects a used link, and explains what to do", async (t) => {
		const { url, gateway, loginUrl } = await runGateway(t, noRateLimits);
		assert.ok(gateway, "no gateway");
		const page = await open(t, url, { expected: /401/ });
		await page.goto(loginUrl);
		await page.getByRole("button", { name: "Log in" }).click();
		await page.getByText("Live").waitFor();
		await page.context().clearCookies();
		await page.goto(loginUrl);
		await page.getByRole("button", { name: "Log in" }).click();
		await page.getByText("This link has expired. Ask for a new one.").waitFor();
	});
});
