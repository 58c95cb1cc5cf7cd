/** `npm run screenshots`: takes the README's screenshots of the dashboard, with scripted devices so that each run looks the same. */

import { on, once } from "node:events";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { WebSocket } from "ws";
import { stateOfPreset } from "../device/peripherals/led-patterns.js";
import type { LedPreset } from "../device/protocol/messages.js";
import type { Model } from "../device/protocol/schema.js";
import type { QuietHoursRequest } from "../gateway/api/quiet-hours.js";
import type { ScheduleRequest } from "../gateway/api/schedule.js";
import { extensions } from "../gateway/extensions.js";
import { Gateway } from "../gateway/gateway.js";
import { createLog } from "../gateway/telemetry/log.js";
import { encodeImage } from "../hosts/virtual/node/boot/encode-image.js";
import { call } from "../test/support/call.js";
import { launchChromium, logIn } from "../test/support/chromium.js";
import { eventually } from "../test/support/eventually.js";
import { bearer, deviceToken, monitorToken, noRateLimits } from "../test/support/gateway-settings.js";
import { getRollout, putRollout } from "../test/support/released-fleet.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../test/support/scripted-device.js";
import { uplinkExamples } from "./api/examples.js";
import { runCommand } from "./command-line/command.js";
import { addRelease } from "./release/folder.js";

const folder = fileURLToPath(new URL("../gateway/dashboard/screenshots/", import.meta.url));
/** Replacement of the system font, for identical screenshots on all computers. */
const fontFile = "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2";
const desktop = { width: 1280, height: 800 };
/** Browsers by ending of the file. */
const formats: Readonly<Record<string, BrowserContextOptions>> = {
	light: { colorScheme: "light", viewport: desktop },
	dark: { colorScheme: "dark", viewport: desktop },
	phone: { colorScheme: "light", viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 },
};

const seen = "proto-1-5c02fe";
const crashed = "dev-1-0a4d19";
const views = [
	{ name: "fleet", view: "", ready: ".rooms li" },
	{ name: "device", view: `#/devices/${seen}`, ready: ".light-card" },
	{ name: "issues", view: "#/issues", ready: ".listed .dot" },
	{ name: "diagnostics", view: `#/devices/${crashed}/diagnostics`, ready: ".past-panel li" },
	{ name: "firmware", view: "#/firmware", ready: ".listed .segment-bar" },
	{ name: "rollout", view: "#/firmware/1.4.0-3fa9c1", ready: ".rollout .row" },
	{ name: "new-rollout", view: "#/firmware?new", ready: ".sheet .cards label" },
	{ name: "schedules", view: "#/schedules", ready: ".schedules li" },
	{ name: "add", view: "#/add", ready: "main form button" },
	{ name: "settings", view: "#/settings", ready: "main button" },
] as const;
const led = (preset: LedPreset) => ({
	"peripherals.led_ring.state_id": stateOfPreset[preset],
	"peripherals.led_ring.state_name": preset,
});
/** @param more differences from a device that does nothing */
function speaker(
	deviceId: string,
	version: string,
	name: string,
	room: string,
	more: Partial<ScriptedDeviceOptions> = {},
) {
	const model: Model = deviceId.startsWith("proto-1") ? "PROTO-1" : "DEV-1";
	return { deviceId, version, model, name, room, ...more };
}

const devices = [
	speaker(crashed, "1.4.0", "Kitchen", "Kitchen", {
		report: { "network.wifi_rssi": -47 },
		crash: uplinkExamples.crash_report.crash,
		logLines: "Wi-Fi connecting\nWi-Fi connected\ngateway connecting\ngateway connected\n",
	}),
	speaker("dev-1-2b90e7", "1.3.2", "Sofa", "Living room", {
		ending: "waits",
		report: { ...led("updating"), "network.wifi_rssi": -61 },
	}),
	speaker("dev-1-77c1a0", "1.3.2", "Window", "Living room", {
		ending: "updates",
		report: { ...led("connecting"), "network.wifi_rssi": -81 },
	}),
	speaker("dev-1-b3f208", "1.3.2", "Bathroom", "Bathroom", {
		ending: "rolls back",
		report: { "peripherals.led_ring.brightness_coef": 0.9, "network.wifi_rssi": -70 },
	}),
	speaker(seen, "1.3.2", "Desk", "Study", {
		report: {
			"peripherals.audio.volume": 37,
			"peripherals.led_ring.brightness_coef": 0.8,
			"peripherals.buttons.btn_play": true,
			"peripherals.haptic_intensity": 60,
			"peripherals.touch_active": true,
		},
	}),
	speaker("proto-1-8d61b4", "1.4.0", "Bed", "Bedroom", { report: led("idle") }),
	speaker("proto-1-f0e233", "1.4.0", "Wardrobe", "Bedroom", {
		report: { ...led("failed"), "peripherals.led_ring.brightness_coef": 0.6 },
	}),
	speaker("dev-1-e51c3a", "1.3.2", "Workshop", "Workshop"),
];

const releases: readonly (readonly [version: string, date: string, ...models: Model[]])[] = [
	["1.3.2", "2025-12-04", "DEV-1"],
	["1.4.0", "2026-01-02", "DEV-1", "PROTO-1"],
];

const everywhere = { all: true };
const schedules: readonly ScheduleRequest[] = [
	{
		at: { weekly: { time: "17:50", days: ["mon", "tue", "wed", "thu", "fri"] } },
		do: { announcement: { text: "We close in ten minutes", chime: "attention", targets: everywhere } },
	},
	{
		name: "Good morning",
		at: { weekly: { time: "07:00" } },
		do: { command: { targets: { room: "Bedroom" }, payload: { command: "set_volume", value: 30 } } },
	},
	{ at: { in: 720 }, do: { announcement: { text: "The pizza", targets: { room: "Living room" } } } },
];
const quietHours: readonly QuietHoursRequest[] = [
	{ targets: everywhere, from: "22:00", until: "07:00", volume: 20, brightness: 0.1 },
	{ targets: { room: "Bedroom" }, from: "20:00", until: "08:00", onlyUrgent: true },
];

/** About as large as a board's. */
const program = Buffer.alloc(1_300_000);

const dayMs = 24 * 3_600_000;
const reportsOfDay = 8 * 288;

const usage = `Usage: npm run screenshots

Takes the README's screenshots of the dashboard, into gateway/dashboard/screenshots/. Needs Chromium, or CHROMIUM as its path.`;

await runCommand({ name: "screenshots", usage, options: {}, run });

async function run(): Promise<void> {
	const browser = await launchChromium();
	const dataDir = await mkdtemp(join(tmpdir(), "gateway-screenshots-"));
	const releasesDir = join(dataDir, "releases");
	/** How far the gateway's clocks are behind. */
	const clock = { behindMs: dayMs };
	const gateway = new Gateway({
		port: 0,
		dataDir,
		releasesDir,
		deviceToken,
		monitorToken,
		log: createLog("silent"),
		extensions,
		environment: { SPEECH_COMMAND: process.execPath },
		...noRateLimits,
		now: () => Date.now() - clock.behindMs,
		monotonic: () => performance.now() + dayMs - clock.behindMs,
	});
	try {
		const { url } = await gateway.listen();
		await addReleases(releasesDir);
		const fleet = devices.map((device) => new ScriptedDevice({ url, ...device }));
		const watched = fleet.find(({ deviceId }) => deviceId === seen);
		if (watched) await reportForADay(url, await watched.connect(), clock);
		await Promise.all(fleet.filter((device) => device !== watched).map((device) => device.connect()));
		for (const { deviceId, name, room } of devices) {
			await isKnown(url, deviceId);
			await call(url, "PATCH", `devices/${deviceId}`, { name, room });
		}
		for (const schedule of schedules) await call(url, "POST", "schedules", schedule);
		for (const hours of quietHours) await call(url, "PUT", "quiet-hours", hours);
		await updateSome(url, fleet);
		await mkdir(folder, { recursive: true });
		await shoot(browser, url, watched);
		for (const device of fleet) device.close();
	} finally {
		await browser.close();
		await gateway.close();
		await rm(dataDir, { recursive: true });
	}
}

/** Resolves once the gateway knows the device. */
async function isKnown(url: string, deviceId: string | undefined): Promise<void> {
	await eventually(() => call(url, "GET", `devices/${deviceId}`));
}

async function addReleases(releasesDir: string): Promise<void> {
	for (const [version, date, ...ofModels] of releases) {
		const board = { chip: "esp32s3", project: "device", idfVersion: "v6.0", segments: [program] } as const;
		const images = ofModels.map((model) => encodeImage({ ...board, model, version }));
		await addRelease(releasesDir, { version, date, notes: "", images });
	}
}

/** A rollout that goes on while the pictures are taken: one device updated, one rolled back, one downloading, one away. */
async function updateSome(url: string, fleet: readonly ScriptedDevice[]): Promise<void> {
	const away = fleet.at(-1);
	await isKnown(url, away?.deviceId);
	away?.close();
	const running = fleet.find(({ ending }) => ending === "waits");
	const [done, back] = fleet.filter(({ ending }) => ending && ending !== "waits");
	const devices = [done, back, running, fleet[0], away].flatMap((device) => device?.deviceId ?? []);
	const id = "1.4.0-3fa9c1";
	await putRollout(url, id, {
		firmware: { version: "latest" },
		target: { devices },
		groups: [{ size: 2, soakSeconds: 0 }, { size: "rest" }],
	});
	await eventually(
		() => getRollout(url, id),
		({ counts }) => counts.succeeded > 0 && counts.rolled_back > 0,
	);
	await running?.offered;
	running?.progress(63);
}

async function shoot(browser: Browser, url: string, device: ScriptedDevice | undefined): Promise<void> {
	for (const { name, view, ready } of views)
		for (const [format, options] of Object.entries(formats)) {
			// The gateway's policy allows no font of another origin, nor one in the style itself.
			const context = await browser.newContext({ ...options, locale: "en-GB", bypassCSP: true });
			await logIn(context.request, url);
			const page = await context.newPage();
			await page.goto(`${url}/${view}`);
			await page.addStyleTag({ content: await fontStyle() });
			await page.locator(ready).first().waitFor();
			if (device && view.includes(device.deviceId)) device.report();
			if (view.includes(crashed)) await page.getByText("Stack and last lines").click();
			await page.waitForTimeout(700);
			await page.screenshot({ path: join(folder, `${name}-${format}.png`) });
			await context.close();
		}
}

async function fontStyle(): Promise<string> {
	const font = await readFile(fileURLToPath(import.meta.resolve(fontFile)), "base64");
	return `@font-face { font-family: Inter; font-weight: 100 900; src: url(data:font/woff2;base64,${font}) }
		:root { font-family: Inter }`;
}

/** One device's reports of a day, so that it has a past. */
async function reportForADay(
	url: string,
	device: ScriptedDevice,
	clock: { behindMs: number },
): Promise<void> {
	const monitor = new WebSocket(`${url.replace("http", "ws")}/monitor`, { headers: bearer(monitorToken) });
	await once(monitor, "open");
	const reports = on(monitor, "message");
	for (let count = 1; count <= reportsOfDay; count++) {
		const hours = (24 * count) / reportsOfDay;
		const wave = Math.sin(hours * 1.3) + Math.sin(hours * 9) / 3;
		const isAway = hours > 7 && hours < 8.5;
		clock.behindMs = dayMs - (count * dayMs) / reportsOfDay;
		if (isAway) continue;
		device.report({
			"health.uptime_seconds": Math.round(3600 * hours),
			"network.wifi_rssi": Math.round(-56 - 6 * wave),
			"health.free_heap_bytes": Math.round(171_000 + 9_000 * wave),
			"health.min_free_heap_bytes": 158_000,
			"peripherals.ambient_light": Math.round(1500 - 1300 * Math.cos((hours / 24) * 2 * Math.PI)),
		});
		while (!String((await reports.next()).value).includes("device_message"));
	}
	monitor.close();
}
