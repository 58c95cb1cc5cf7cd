/**
 * The cost of the dashboard in a real Chromium: its script, its first paint, and the time to the first device, at a gateway with a
 * thousand devices and at one with a single device.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { type Asset, type Bundle, bundlePage } from "../../gateway/dashboard/bundle.js";
import { createGateway } from "../../gateway/gateway.js";
import { createLog } from "../../gateway/telemetry/log.js";
import { launchChromium, logIn, skip } from "../../test/support/chromium.js";
import { deviceToken, monitorToken, wholeFleetAtOnce } from "../../test/support/gateway-settings.js";
import { ScriptedDevice } from "../../test/support/scripted-device.js";
import { alternate, pick } from "./rounds.js";
import { compare, measure, type Row } from "./row.js";

const fleetSize = 1000;

/** Milliseconds since the navigation began. */
interface Times {
	readonly firstPaint: number;
	readonly firstDevice: number;
}

interface Fleet {
	readonly url: string;
	close(): Promise<void>;
}

export async function run(): Promise<readonly Row[]> {
	if (skip) {
		console.error(`dashboard is left out: ${skip}`);
		return [];
	}
	const browser = await launchChromium();
	const fleets = [await startFleet(fleetSize), await startFleet(1)] as const;
	try {
		const [thousand, one] = fleets;
		const rounds = await alternate(
			() => load(browser, thousand.url),
			() => load(browser, one.url),
		);
		const row = (what: string, name: keyof Times) =>
			compare(
				{ benchmark: "dashboard", what: `${what}, ${fleetSize} devices beside one`, unit: "ms" },
				pick(rounds, (times) => times[name]),
			);
		return [...(await scriptRows()), row("first paint", "firstPaint"), row("first device", "firstDevice")];
	} finally {
		await browser.close();
		for (const fleet of fleets) await fleet.close();
	}
}

async function scriptRows(): Promise<readonly Row[]> {
	const { assets } = await bundlePage();
	const scripts = pageScripts(assets);
	const kilobytes = (list: typeof scripts) => list.reduce((sum, { gzip }) => sum + gzip.length, 0) / 1024;
	const benchmark = "dashboard";
	const first = scripts.filter(({ name }) => name.startsWith("assets/dashboard-"));
	return [
		measure({ benchmark, what: "script, gzip", unit: "KB", target: { of: "ours", atMost: 60 } }, [
			kilobytes(scripts),
		]),
		measure({ benchmark, what: "script before the first device, gzip", unit: "KB" }, [kilobytes(first)]),
	];
}

/** All that the page may load, but not what installs firmware on boards, which only that view loads. */
function pageScripts(assets: Bundle["assets"]): readonly Asset[] {
	const isFirst = ({ name }: Asset) => name.startsWith("assets/dashboard-") && name.endsWith(".js");
	const found = new Set([...assets.values()].filter(isFirst));
	for (const { content } of found)
		for (const [, name = ""] of content.toString().matchAll(/"\.\/([\w.-]+\.js)"/g)) {
			const script = assets.get(`assets/${name}`);
			if (script && !name.startsWith("installation-")) found.add(script);
		}
	return [...found];
}

async function startFleet(size: number): Promise<Fleet> {
	const dataDir = await mkdtemp(join(tmpdir(), "gateway-bench-"));
	const releasesDir = join(dataDir, "releases");
	const log = createLog("silent");
	const gateway = createGateway({
		port: 0,
		deviceToken,
		monitorToken,
		log,
		dataDir,
		releasesDir,
		...wholeFleetAtOnce,
	});
	const { url } = await gateway.listen();
	const devices: ScriptedDevice[] = [];
	for (let from = 0; from < size; from += 100) {
		const indexes = Array.from({ length: Math.min(100, size - from) }, (_, index) => from + index);
		const connect = (index: number) =>
			new ScriptedDevice({ url, deviceId: `dev-1-${String(index).padStart(6, "0")}` }).connect();
		devices.push(...(await Promise.all(indexes.map(connect))));
	}
	return {
		url,
		async close() {
			for (const device of devices) device.close();
			await gateway.close();
			await rm(dataDir, { recursive: true, force: true });
		},
	};
}

/** Opens the page without caches. */
async function load(browser: Browser, url: string): Promise<Times> {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
	await logIn(context.request, url);
	const page = await context.newPage();
	await page.addInitScript(`new MutationObserver((_, observer) => {
		if (!document.querySelector(".card")) return;
		observer.disconnect();
		requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("first device")));
	}).observe(document, { childList: true, subtree: true });`);
	await page.goto(`${url}/`);
	await page.locator(".card").first().waitFor();
	const times: Times = await page.evaluate(`(async () => {
		const after = async (name) => {
			for (;;) {
				const [entry] = performance.getEntriesByName(name);
				if (entry) return entry.startTime;
				await new Promise(requestAnimationFrame);
			}
		};
		return { firstPaint: await after("first-paint"), firstDevice: await after("first device") };
	})()`);
	await context.close();
	return times;
}
