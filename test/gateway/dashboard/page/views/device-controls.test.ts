import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { speaker } from "../gateway.js";
import { type MountOptions, mount } from "../mount.js";

const { DeviceView } = await import("../../../../../gateway/dashboard/page/views/device.js");

const overview = { deviceKey: "a", tab: "overview" } as const;
const devices = [speaker("a", { features: ["identify", "sound", "light", "restart"] })];
const light = { color: "#ffb066", effect: "solid" };

async function show(t: TestContext, options: MountOptions = {}, report = {}) {
	const page = await mount(t, DeviceView, overview, { devices, ...options });
	await page.report("a", report);
	return page;
}

describe("controls of a device", () => {
	for (const { name, role = "button", value, menu, command } of [
		{ name: "Volume", role: "slider", value: 80, command: ["set_volume", 80] },
		{ name: "Brightness", role: "slider", value: 25, command: ["set_brightness", 0.25] },
		{ name: "Mute a", command: ["set_volume", 0] },
		{ name: "Flash light", command: ["identify"] },
		{ name: "Red", command: ["set_light", { ...light, color: "#ff3b30" }] },
		{ name: "Blink", command: ["set_light", { ...light, effect: "blink" }] },
		{ name: "Rainbow", command: ["set_led", "rainbow"] },
		{ name: "Refresh", menu: true, command: ["query_state"] },
		{ name: "Reconnect", menu: true, command: ["boot_device"] },
		{ name: "Restart", menu: true, command: ["restart"] },
		{ name: /Start-up/, menu: true, command: ["play_audio", "startup"] },
	])
		test(`sends ${command} for ${name}`, async (t) => {
			const page = await show(t);
			if (menu) await page.click("button", "More");
			if (value === undefined) await page.click(role, name);
			else await page.enter(`${name}`, value);
			assert.deepEqual(page.gateway.takeCommands(), [["a", ...command]]);
		});

	test("show a requested value as sending until a report confirms it", async (t) => {
		const page = await show(t);
		await page.enter("Volume", 80);
		const sending = () => page.texts("status").includes("sending");
		await page.report("a", { "peripherals.audio.volume": 51 });
		assert.deepEqual([page.field("Volume").value, sending()], ["80", true], "another report");
		await page.report("a", { "peripherals.audio.volume": 80 });
		assert.deepEqual([page.field("Volume").value, sending(), page.problems], ["80", false, []]);
	});

	for (const { what, cause } of [
		{ what: "the gateway rejects it", cause: "rejected" },
		{ what: "the device rejects it", cause: "rejected" },
		{ what: "the device disconnects", cause: "gone" },
		{ what: "no report confirms it in time", cause: "late" },
	])
		test(`return to the reported value with the reason if ${what}`, async (t) => {
			const page = await show(t);
			if (cause === "rejected") page.gateway.rejection = "busy";
			await page.enter("Volume", 80);
			const message = { deviceId: "a", command: "set_volume", code: "busy", message: "busy" } as const;
			if (cause === "rejected")
				page.gateway.send({
					...{ type: "device_message", sessionId: "session of a", deviceId: "a" },
					message: { type: "command_error", ...message },
				});
			if (cause === "gone") page.gateway.sendSummary("changed", [speaker("a", { connected: false })]);
			await page.advance(cause === "late" ? 12_000 : undefined);
			assert.deepEqual([page.field("Volume").value, page.problems.length], ["50", 1]);
			assert.equal(page.isOff("slider", "Volume"), cause === "gone");
			await page.click("button", "Dismiss");
			assert.deepEqual(page.problems, []);
		});

	test("are disabled without a connection", async (t) => {
		const page = await show(t);
		await page.click("button", "More");
		page.gateway.lose();
		await page.advance();
		assert.equal(page.isOff("slider", "Volume"), true);
		for (const name of ["Flash light", "Mute a", "Red", "Rainbow", "Refresh", "Reconnect", "Restart"])
			assert.equal(page.isOff("button", name), true, name);
	});

	test("stop a playing sound, but not a chime", async (t) => {
		const audio = "peripherals.audio";
		const page = await show(t, {}, { [`${audio}.player_state`]: "playing" });
		assert.equal(page.has("button", "Stop"), false, "a chime");
		const track = { [`${audio}.current_track`]: "file:///sounds/d1" };
		await page.report("a", { [`${audio}.player_state`]: "playing", ...track });
		await page.click("button", "Stop");
		assert.deepEqual(page.gateway.takeCommands(), [["a", "stop_sound"]]);
	});

	test("are only those of the board's parts", async (t) => {
		const page = await show(t);
		for (const name of ["Haptics", "Adapt to room light"]) assert.throws(() => page.field(name), name);
	});

	test("mark the color, the effect or the preset that the ring shows", async (t) => {
		const ring = "peripherals.led_ring";
		const pressed = () =>
			page
				.all("button")
				.flatMap((button) =>
					button.getAttribute("aria-pressed") === "true" ? [button.title || button.textContent] : [],
				);
		const page = await show(t, {}, { [`${ring}.state_name`]: "rainbow", [`${ring}.light`]: undefined });
		assert.deepEqual(pressed(), ["Rainbow"]);
		await page.report("a", { [`${ring}.light`]: { color: "#ff3b30", effect: "blink" } });
		assert.deepEqual(pressed(), ["Red", "Blink"]);
		await page.click("button", "Clear");
		assert.deepEqual(page.gateway.takeCommands(), [["a", "set_light", null]]);
	});
});

describe("page of a device", () => {
	test("says that a device is unknown", async (t) => {
		const page = await mount(t, DeviceView, { ...overview, deviceKey: "x" }, { devices });
		assert.equal(page.has("heading", /x$/), true);
	});

	test("links its four parts", async (t) => {
		const page = await show(t);
		const links = page.within("navigation").all("link");
		const addresses = ["", "/firmware", "/settings", "/diagnostics"].map((part) => `#/devices/a${part}`);
		const hrefs = links.map((link) => link.getAttribute("href"));
		assert.deepEqual(hrefs, addresses);
		const current = links.map((link) => link.getAttribute("aria-current"));
		assert.deepEqual(current, ["page", null, null, null]);
	});
});
