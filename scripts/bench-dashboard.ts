/**
 * What the dashboard costs: its script, its first paint, and the time to the first device where there are a thousand. Each
 * time is the median of several runs in a real Chromium on this computer; the ratio to an empty gateway is what travels to
 * another one. Prints a table, and the same as JSON in its last line.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { bundlePage } from "../gateway/dashboard/bundle.js";
import { createGateway } from "../gateway/gateway.js";
import { createLog } from "../gateway/telemetry/log.js";
import { launchChromium, logIn } from "../test/browser/browsing.js";
import { ScriptedDevice } from "../test/browser/scripted-device.js";
import { deviceToken, monitorToken } from "../test/gateway/running.js";

const runs = 7;
const deviceCount = 1000;
/** The most script that the page may have, in bytes of gzip. */
const scriptLimit = 60 * 1024;

interface Times {
	/** Milliseconds since the navigation began. */
	readonly firstPaintMs: number;
	readonly firstDeviceMs: number;
}

const { assets } = await bundlePage();
const scripts = [...assets.values()].filter(({ name }) => name.endsWith(".js"));
const first = scripts.filter(({ name }) => name.startsWith("assets/dashboard-"));
const scriptBytes = gzipBytes(scripts);

const dataDir = await mkdtemp(join(tmpdir(), "gateway-bench-"));
const settings = { port: 0, deviceToken, monitorToken, log: createLog("silent") } as const;
const gateway = createGateway({
	...settings,
	dataDir,
	releasesDir: join(dataDir, "releases"),
	// One address stands for a whole fleet here.
	limits: { devicesASecond: 100_000, deviceBurst: 100_000, upgradesInTwoSeconds: 100_000 },
});
const { url } = await gateway.listen();
const browser = await launchChromium();
try {
	const fleet = [await connect(0)];
	const one = await measure(browser);
	for (let from = 1; from < deviceCount; from += 100) {
		const indexes = Array.from({ length: Math.min(100, deviceCount - from) }, (_, index) => from + index);
		fleet.push(...(await Promise.all(indexes.map(connect))));
	}
	const thousand = await measure(browser);
	print(one, thousand);
	for (const device of fleet) device.close();
} finally {
	await browser.close();
	await gateway.close();
	await rm(dataDir, { recursive: true, maxRetries: 10 });
}
if (scriptBytes > scriptLimit) process.exitCode = 1;

function connect(index: number): Promise<ScriptedDevice> {
	return new ScriptedDevice({ url, deviceId: `dev-1-${String(index).padStart(6, "0")}` }).connect();
}

async function measure(chromium: Browser): Promise<Times> {
	const all: Times[] = [];
	for (let run = 0; run < runs; run++) {
		const context = await chromium.newContext({ viewport: { width: 1280, height: 900 } });
		await logIn(context.request, url);
		const page = await context.newPage();
		await page.addInitScript(`new MutationObserver((_, observer) => {
			if (!document.querySelector(".card")) return;
			observer.disconnect();
			requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("first device")));
		}).observe(document, { childList: true, subtree: true });`);
		await page.goto(`${url}/`);
		await page.locator(".card").first().waitFor();
		all.push(
			await page.evaluate(`(async () => {
				const after = async (name) => {
					for (;;) {
						const [entry] = performance.getEntriesByName(name);
						if (entry) return entry.startTime;
						await new Promise(requestAnimationFrame);
					}
				};
				return { firstPaintMs: await after("first-paint"), firstDeviceMs: await after("first device") };
			})()`),
		);
		await context.close();
	}
	return {
		firstPaintMs: median(all.map(({ firstPaintMs }) => firstPaintMs)),
		firstDeviceMs: median(all.map(({ firstDeviceMs }) => firstDeviceMs)),
	};
}

function print(one: Times, thousand: Times): void {
	const ms = (value: number) => `${Math.round(value)} ms`;
	const ratio = thousand.firstDeviceMs / one.firstDeviceMs;
	console.table({
		"script, gzip": `${kilobytes(scriptBytes)} of at most ${kilobytes(scriptLimit)}`,
		"script before the first device, gzip": kilobytes(gzipBytes(first)),
		"first paint, 1 device": ms(one.firstPaintMs),
		[`first paint, ${deviceCount} devices`]: ms(thousand.firstPaintMs),
		"first device, 1 device": ms(one.firstDeviceMs),
		[`first device, ${deviceCount} devices`]: `${ms(thousand.firstDeviceMs)}, ${ratio.toFixed(2)} times as long`,
	});
	console.log(JSON.stringify({ scriptBytes, scriptLimit, deviceCount, one, thousand, ratio }));
}

function gzipBytes(list: typeof scripts): number {
	return list.reduce((sum, { gzip }) => sum + gzip.length, 0);
}

function kilobytes(count: number): string {
	return `${(count / 1024).toFixed(1)} KB`;
}

function median(values: readonly number[]): number {
	return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
