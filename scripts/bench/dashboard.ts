/**
 * The cost of the dashboard in a real Chromium, with 10, 300 and 5,000 devices that report every 5 s: its script, the time to the
 * first device, its main thread at rest, its frames while it is scrolled, and what it receives.
 */

import type { Browser, CDPSession, Page } from "playwright-core";
import { type Asset, type Bundle, bundlePage } from "../../gateway/dashboard/bundle.js";
import { launchChromium, skip } from "../../test/support/chromium.js";
import { Child } from "./child.js";
import type { Devices } from "./load/devices.js";
import { roundCount } from "./rounds.js";
import { measure, percentile, type Row, type Target } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";
import { socketsAtMost } from "./sockets.js";

const fleets = [10, 300, 5000];
/** Of a large fleet also what it does not show by itself. */
const looks = { "": "", "as cards": "#/?view=cards" };
const looksFrom = 300;
const reportEverySeconds = 5;
const restSeconds = 10;
const scrollSeconds = 4;
/** CSS pixels. */
const scrolledEachFrame = 60;
/** Of a frame at 60 a second; no browser is exact. */
const frameMs = 17.5;

const benchmark = "dashboard";

/** What one opened page cost. */
interface Cost {
	/** Milliseconds since the navigation began. */
	readonly firstPaintMs: number;
	readonly firstDeviceMs: number;
	/** Percent of a core, of the page's main thread. */
	readonly restPercent: number;
	/** Over the WebSocket, at rest. */
	readonly bytesASecond: number;
	/** Between the frames while it is scrolled. */
	readonly framesMs: readonly number[];
}

export async function run(): Promise<readonly Row[]> {
	if (skip) {
		console.error(`dashboard is left out: ${skip}`);
		return [];
	}
	const rows = [...(await scriptRows())];
	const browser = await launchChromium();
	try {
		for (const size of fleets) rows.push(...(await fleetRows(browser, Math.min(size, socketsAtMost()))));
		return rows;
	} finally {
		await browser.close();
	}
}

async function scriptRows(): Promise<readonly Row[]> {
	const { assets } = await bundlePage();
	const scripts = pageScripts(assets);
	const kilobytes = (list: typeof scripts) => list.reduce((sum, { gzip }) => sum + gzip.length, 0) / 1024;
	const first = scripts.filter(({ name }) => name.startsWith("assets/dashboard-"));
	return [
		measure({ benchmark, what: "script, gzip", unit: "KB", target: { of: "ours", atMost: 70 } }, [
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

async function fleetRows(browser: Browser, size: number): Promise<readonly Row[]> {
	const gateway = new Child<GatewayServer>("servers/gateway-server.ts");
	const devices = new Child<Devices>("load/devices.ts");
	try {
		const { url, tokens } = await gateway.ask("listen");
		const target = { url: `${url.replace("http", "ws")}/device`, token: tokens.device };
		await devices.ask("connect", { target, count: size });
		await devices.ask("introduce", { perSecond: 2000 });
		const rows: Row[] = [];
		for (const [look, view] of Object.entries(looks)) {
			if (look !== "" && size < looksFrom) continue;
			const costs: Cost[] = [];
			for (let round = 0; round < roundCount; round++) {
				const perSecond = size / reportEverySeconds;
				const count = perSecond * (restSeconds + scrollSeconds + 6);
				const sent = devices.ask("send", { count, perSecond });
				costs.push(await costOf(browser, `${url}/${view}`, url, tokens.monitor));
				await sent;
			}
			rows.push(...costRows([size.toLocaleString("en"), "devices", look].filter(Boolean).join(" "), costs));
		}
		return rows;
	} finally {
		await devices.close();
		await gateway.close();
	}
}

function costRows(what: string, costs: readonly Cost[]): readonly Row[] {
	const row = (name: string, unit: string, figureOf: (cost: Cost) => number, target?: Target) =>
		measure({ benchmark, what: `${what}: ${name}`, unit, ...(target && { target }) }, costs.map(figureOf));
	return [
		row("first paint", "ms", ({ firstPaintMs }) => firstPaintMs),
		row("first device", "ms", ({ firstDeviceMs }) => firstDeviceMs),
		row("main thread at rest", "% of a core", ({ restPercent }) => restPercent, { of: "ours", atMost: 15 }),
		row("received at rest", "KB/s", ({ bytesASecond }) => bytesASecond / 1024),
		row("frame while scrolling, median", "ms", ({ framesMs }) => percentile(framesMs, 50), {
			of: "ours",
			atMost: frameMs,
		}),
		row("frame while scrolling, p95", "ms", ({ framesMs }) => percentile(framesMs, 95)),
		row("frame while scrolling, p99", "ms", ({ framesMs }) => percentile(framesMs, 99)),
	];
}

/** Opens the page without caches. */
async function costOf(browser: Browser, address: string, url: string, token: string): Promise<Cost> {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
	await context.request.post(`${url}/login`, { form: { token }, maxRedirects: 0 });
	const page = await context.newPage();
	const session = await context.newCDPSession(page);
	await page.addInitScript(`new MutationObserver((_, observer) => {
		if (!document.querySelector(".card, .table-body tr")) return;
		observer.disconnect();
		requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("first device")));
	}).observe(document, { childList: true, subtree: true });`);
	await page.goto(address);
	await page.getByText("Live").waitFor();
	const times: Pick<Cost, "firstPaintMs" | "firstDeviceMs"> = await page.evaluate(`(async () => {
		const after = async (name) => {
			for (;;) {
				const [entry] = performance.getEntriesByName(name);
				if (entry) return entry.startTime;
				await new Promise(requestAnimationFrame);
			}
		};
		return { firstPaintMs: await after("first-paint"), firstDeviceMs: await after("first device") };
	})()`);
	const rest = await restOf(page, session);
	const framesMs = await scroll(page);
	await context.close();
	return { ...times, ...rest, framesMs };
}

async function restOf(page: Page, session: CDPSession): Promise<Pick<Cost, "restPercent" | "bytesASecond">> {
	// The start's own work is over by then.
	await page.waitForTimeout(2000);
	let bytes = 0;
	session.on("Network.webSocketFrameReceived", ({ response }) => {
		bytes += response.payloadData.length;
	});
	// Time on the processor, not on the clock, as other processes compete for it.
	await session.send("Performance.enable", { timeDomain: "threadTicks" });
	const before = await busySeconds(session);
	await page.waitForTimeout(restSeconds * 1000);
	const restPercent = (100 * ((await busySeconds(session)) - before)) / restSeconds;
	// A second time, as to watch the socket costs the page something.
	await session.send("Network.enable");
	await page.waitForTimeout(restSeconds * 500);
	await session.send("Network.disable");
	return { restPercent, bytesASecond: bytes / (restSeconds / 2) };
}

async function busySeconds(session: CDPSession): Promise<number> {
	const { metrics } = await session.send("Performance.getMetrics");
	return metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
}

/** @returns milliseconds between frames */
function scroll(page: Page): Promise<readonly number[]> {
	return page.evaluate(`new Promise((done) => {
		const times = [];
		let step = ${scrolledEachFrame};
		const next = (time) => {
			times.push(time);
			if (time - times[0] > ${scrollSeconds * 1000}) return done(times.slice(1).map((at, index) => at - times[index]));
			const end = document.documentElement.scrollHeight - innerHeight;
			if (scrollY + step > end || scrollY + step < 0) step = -step;
			scrollBy(0, step);
			requestAnimationFrame(next);
		};
		requestAnimationFrame(next);
	})`);
}
