/**
 * Cost of the dashboard in a real Chromium, with 10, 300 and 5,000 devices that report every 5 s: the time to the first
 * device, its idle main thread, and its frames while scrolling, with software rendering.
 */

import type { Browser, CDPSession, Page } from "playwright-core";
import { launchChromium, logIn, skip } from "../support/chromium.js";
import { type Owner, onEnd, withCleanup } from "../support/cleanup.js";
import { compare, type Figure, maxSockets, percentile, type Row } from "./harness.js";
import { Side } from "./side.js";

/** Numbers of devices, for example "10,3000". */
const fleets = (process.env.DASHBOARD_DEVICES ?? "10,300,5000").split(",").map(Number);
/** Views of a large fleet, including one that is not the default. */
const looks = { "": "", " as a list": "#/?view=list" };
const looksFrom = 300;
const reportEverySeconds = 5;
const restSeconds = 10;
const scrollSeconds = 4;
/** Size in CSS pixels. */
const scrolledEachFrame = 60;
/** Duration of a frame at 60 a second; no browser is exact. */
const frameMs = 17.5;

/** Cost of one opened page. */
interface Cost {
	/** Milliseconds since the navigation began. */
	readonly firstDeviceMs: number;
	/** Percent of a core used by the idle page's main thread. */
	readonly restPercent: number;
	/** Time between frames while scrolling. */
	readonly framesMs: readonly number[];
}

const figures: readonly Figure<Cost>[] = [
	{ what: "first device", unit: "ms", of: ({ firstDeviceMs }) => firstDeviceMs },
	{ what: "main thread at rest", unit: "% of a core", of: ({ restPercent }) => restPercent, max: 15 },
	...[50, 95, 99].map((rank) => ({
		what: `frame while scrolling, p${rank}`,
		unit: "ms",
		of: ({ framesMs }: Cost) => percentile(framesMs, rank),
		max: rank === 50 ? frameMs : undefined,
	})),
];

export async function run(t: Owner): Promise<readonly Row[]> {
	if (skip) {
		console.log(`\ndashboard: left out. ${skip}`);
		return [];
	}
	const browser = await launchChromium();
	onEnd(t, () => browser.close());
	const rows: Row[] = [];
	for (const size of fleets)
		rows.push(...(await withCleanup((t) => measureFleet(t, browser, Math.min(size, maxSockets())))));
	return rows;
}

async function measureFleet(t: Owner, browser: Browser, size: number): Promise<readonly Row[]> {
	const { url, device, monitor, devices } = await Side.gateway(t);
	await devices.request("connect", { target: device, count: size });
	await devices.request("introduce", { perSecond: 2000 });
	/** Opens a page while the devices report. */
	const measure = async (view: string): Promise<Cost> => {
		const perSecond = size / reportEverySeconds;
		const seconds = restSeconds + scrollSeconds + 4;
		const sent = devices.request("send", { count: perSecond * seconds, perSecond });
		const cost = await costOf(browser, `${url}/${view}`, url, monitor.token);
		await sent;
		return cost;
	};
	const rows: Row[] = [];
	for (const [look, view] of Object.entries(looks))
		if (look === "" || size >= looksFrom)
			rows.push(...(await compare(`${size} devices${look}`, { ours: () => measure(view) }, figures)));
	return rows;
}

const markFirstDevice = `new MutationObserver((_, observer) => {
	if (!document.querySelector(".device-row, .table-body tr")) return;
	observer.disconnect();
	requestAnimationFrame(() => requestAnimationFrame(() => performance.mark("first device")));
}).observe(document, { childList: true, subtree: true });`;

/** Opens the page without caches. */
async function costOf(browser: Browser, address: string, url: string, token: string): Promise<Cost> {
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
	await logIn(context.request, url, token);
	const page = await context.newPage();
	const session = await context.newCDPSession(page);
	await page.addInitScript(markFirstDevice);
	await page.goto(address);
	await page.getByText("Live").waitFor();
	const marked = await page.waitForFunction('performance.getEntriesByName("first device")[0]?.startTime');
	const firstDeviceMs = Number(await marked.jsonValue());
	// The start's own work is over by then.
	await page.waitForTimeout(2000);
	// Time on the processor, not on the clock, as other processes compete for it.
	await session.send("Performance.enable", { timeDomain: "threadTicks" });
	const before = await busySeconds(session);
	await page.waitForTimeout(restSeconds * 1000);
	const restPercent = (100 * ((await busySeconds(session)) - before)) / restSeconds;
	const framesMs = await scroll(page);
	await context.close();
	return { firstDeviceMs, restPercent, framesMs };
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
