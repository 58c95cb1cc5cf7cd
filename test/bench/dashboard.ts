/**
 * Cost of the dashboard in a real Chromium, with 10, 300 and 5,000 devices that report every 5 s: its script, the
 * time to the first device, its idle main thread, its frames while scrolling, and its traffic. Frames are compared
 * with those of a page of as many plain rows, with software rendering.
 */

import type { Browser, CDPSession, Page } from "playwright-core";
import { type Asset, type Bundle, bundlePage } from "../../gateway/dashboard/bundle.js";
import { launchChromium, skip } from "../support/chromium.js";
import { type Owner, onEnd, withCleanup } from "../support/cleanup.js";
import { roundCount, socketsAtMost } from "./harness.js";
import { oursAtMost, percentile, type Row, Rows } from "./row.js";
import { Side } from "./sides.js";

const fleets = [10, 300, 5000];
/** Views of a large fleet, including one that is not the default. */
const looks = { "": "", "as a list": "#/?view=list" };
const looksFrom = 300;
const reportEverySeconds = 5;
const restSeconds = 10;
const scrollSeconds = 4;
/** Size in CSS pixels. */
const scrolledEachFrame = 60;
/** Duration of a frame at 60 a second; no browser is exact. */
const frameMs = 17.5;

const viewport = { width: 1280, height: 900 };

const table = new Rows("dashboard");
/** Numbers of devices, for example "10,3000"; default: all. */
const wanted = process.env.DASHBOARD_DEVICES?.split(",").map(Number);

/** Cost of one opened page. */
interface Cost {
	/** Milliseconds since the navigation began. */
	readonly firstPaintMs: number;
	readonly firstDeviceMs: number;
	/** Percent of a core used by the idle page's main thread. */
	readonly restPercent: number;
	/** WebSocket traffic while idle. */
	readonly bytesASecond: number;
	/** Time between frames while scrolling. */
	readonly framesMs: readonly number[];
	/** Processor time of the main thread for each of these frames. */
	readonly frameWorkMs: number;
}

const frameRanks = [50, 95, 99];
const figures: readonly (readonly [
	name: string,
	unit: string,
	of: (cost: Cost) => number,
	atMost?: number,
])[] = [
	["first paint", "ms", ({ firstPaintMs }) => firstPaintMs],
	["first device", "ms", ({ firstDeviceMs }) => firstDeviceMs],
	["main thread at rest", "% of a core", ({ restPercent }) => restPercent, 15],
	["received at rest", "KB/s", ({ bytesASecond }) => bytesASecond / 1024],
	["main thread, each frame while scrolling", "ms", ({ frameWorkMs }) => frameWorkMs],
	["frame while scrolling, p50", "ms", ({ framesMs }) => percentile(framesMs, 50), frameMs],
];

interface Round {
	readonly ours: Cost;
	/** Milliseconds between the frames of a page of plain rows. */
	readonly bareFramesMs: readonly number[];
}

export async function run(): Promise<readonly Row[]> {
	if (skip) {
		console.error(`dashboard is skipped: ${skip}`);
		return [];
	}
	return withCleanup(async (t) => {
		const rows = [...(await scriptRows())];
		const browser = await launchChromium();
		onEnd(t, () => browser.close());
		for (const size of fleets.filter((each) => wanted?.includes(each) ?? true))
			rows.push(...(await withCleanup((t) => fleetRows(t, browser, Math.min(size, socketsAtMost())))));
		return rows;
	});
}

async function scriptRows(): Promise<readonly Row[]> {
	const { assets } = await bundlePage();
	const scripts = pageScripts(assets);
	const kilobytes = (list: typeof scripts) => list.reduce((sum, { gzip }) => sum + gzip.length, 0) / 1024;
	const page = assets.get("");
	const style = [...assets.values()].filter(({ name }) => name.endsWith(".css"));
	const first = scripts.filter(({ name }) => page?.content.includes(`"${name}"`) || name === "");
	const withoutStyle = kilobytes(scripts) - kilobytes(style);
	return [
		table.ours("page and script without style, gzip", "KB", withoutStyle, oursAtMost(70)),
		table.ours("page, style and script before the first device, gzip", "KB", kilobytes(first)),
	];
}

/** Bytes of the page and everything it may load, except for the view that installs firmware on boards. */
function pageScripts(assets: Bundle["assets"]): readonly Asset[] {
	const found = new Set([...assets.values()].filter(({ name }) => name === ""));
	for (const { content } of found)
		for (const [, name = ""] of content.toString().matchAll(/"\.\/(?:assets\/)?([\w.-]+\.js)"/g)) {
			const script = assets.get(`assets/${name}`);
			if (script && !name.startsWith("install-view-")) found.add(script);
		}
	return [...found];
}

async function fleetRows(t: Owner, browser: Browser, size: number): Promise<readonly Row[]> {
	const { url, device, monitor, devices } = await Side.gateway(t);
	await devices.request("connect", { target: device, count: size });
	await devices.request("introduce", { perSecond: 2000 });
	/** Performs an action while the devices report. @param seconds minimum duration */
	const during = async <T>(seconds: number, action: () => Promise<T>): Promise<T> => {
		const perSecond = size / reportEverySeconds;
		const sent = devices.request("send", { count: perSecond * seconds, perSecond });
		const result = await action();
		await sent;
		return result;
	};
	const rows: Row[] = [];
	for (const [look, view] of Object.entries(looks)) {
		if (look !== "" && size < looksFrom) continue;
		const rounds: Round[] = [];
		for (let round = 0; round < roundCount; round++)
			rounds.push({
				ours: await during(restSeconds * 1.5 + scrollSeconds + 4, () =>
					costOf(browser, `${url}/${view}`, url, monitor.token),
				),
				bareFramesMs: await during(scrollSeconds + 2, () => bareFrames(browser, size)),
			});
		const what = [size.toLocaleString("en"), "devices", look].filter(Boolean).join(" ");
		for (const [name, unit, figureOf, atMost] of figures) {
			const values = rounds.map(({ ours }) => figureOf(ours));
			rows.push(
				table.ours(`${what}: ${name}`, unit, values, atMost === undefined ? undefined : oursAtMost(atMost)),
			);
		}
		for (const rank of frameRanks) {
			const sides = rounds.map(({ ours, bareFramesMs }) => ({
				ours: percentile(ours.framesMs, rank),
				reference: percentile(bareFramesMs, rank),
			}));
			rows.push(
				table.compare(
					`${what}: frame while scrolling, p${rank}`,
					"ms",
					sides,
					undefined,
					"beside plain rows",
				),
			);
		}
	}
	return rows;
}

const markFirstDevice = `new MutationObserver((_, observer) => {
	if (!document.querySelector(".device-row, .table-body tr")) return;
	observer.disconnect();
	requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("first device")));
}).observe(document, { childList: true, subtree: true });`;

/** Opens the page without caches. */
async function costOf(browser: Browser, address: string, url: string, token: string): Promise<Cost> {
	const context = await browser.newContext({ viewport });
	await context.request.post(`${url}/login`, { form: { token }, maxRedirects: 0 });
	const page = await context.newPage();
	const session = await context.newCDPSession(page);
	await page.addInitScript(markFirstDevice);
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
	const busyBefore = await busySeconds(session);
	const framesMs = await scroll(page);
	const frameWorkMs = (1000 * ((await busySeconds(session)) - busyBefore)) / framesMs.length;
	await context.close();
	return { ...times, ...rest, framesMs, frameWorkMs };
}

/** Scrolls plain rows as fast as this browser can. @returns milliseconds between frames */
async function bareFrames(browser: Browser, size: number): Promise<readonly number[]> {
	const page = await browser.newPage({ viewport });
	const rows = Array.from({ length: size }, (_, index) => `<div>dev-1-${index}</div>`);
	await page.setContent(`<style>div { height: 40px }</style>${rows.join("")}`);
	const framesMs = await scroll(page);
	await page.close();
	return framesMs;
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
	// A second time, because observing the socket costs the page something.
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
