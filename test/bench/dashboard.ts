/**
 * Cost of the dashboard in a real Chromium, with 10, 300 and 5,000 devices that report every 5 s: its script, the
 * time to the first device, its idle main thread, its frames while scrolling, and its traffic. Frames are compared
 * with those of a page of as many plain rows, with software rendering.
 */

import { on } from "node:events";
import type { Browser, CDPSession, Page } from "playwright-core";
import { WebSocket } from "ws";
import { type Asset, type Bundle, bundlePage } from "../../gateway/dashboard/bundle.js";
import { launchChromium, skip } from "../support/chromium.js";
import { openSlowLink } from "../support/slow-link.js";
import { Child } from "./child.js";
import type { Devices } from "./load/devices.js";
import { roundCount, type Sides } from "./rounds.js";
import { compare, measure, percentile, type Row, type Target } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";
import { socketsAtMost } from "./sockets.js";

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

const slowFleet = 3000;
/** Slow mobile network. */
const slow = { bitsPerSecond: 400_000, roundTripMs: 400 };
const slowVisits = ["first visit", "next visit"] as const;
type SlowVisit = (typeof slowVisits)[number];

interface SlowCost {
	/** Milliseconds since the navigation began. */
	readonly firstDeviceMs: number;
	readonly liveMs: number;
	/** Bytes of all connections until then. */
	readonly received: number;
}

/** Cost of one monitor. */
interface SummaryCost {
	readonly cpuMs: number;
	/** Bytes. */
	readonly received: number;
	/** Bytes. */
	readonly resident: number;
}

const summaryMonitors = 10;

const slowFigures = [
	{
		name: "first device",
		unit: "ms",
		atMost: 3000,
		figureOf: ({ firstDeviceMs }: SlowCost) => firstDeviceMs,
	},
	{ name: "all devices", unit: "ms", atMost: 15_000, figureOf: ({ liveMs }: SlowCost) => liveMs },
	{
		name: "received until live",
		unit: "KB",
		atMost: undefined,
		figureOf: ({ received }: SlowCost) => received / 1024,
	},
];

const viewport = { width: 1280, height: 900 };

const benchmark = "dashboard";
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

interface Figure {
	readonly name: string;
	readonly unit: string;
	readonly atMost?: number;
	readonly figureOf: (cost: Cost) => number;
}

const frameRanks = [50, 95, 99];
const figures: readonly Figure[] = [
	{ name: "first paint", unit: "ms", figureOf: ({ firstPaintMs }) => firstPaintMs },
	{ name: "first device", unit: "ms", figureOf: ({ firstDeviceMs }) => firstDeviceMs },
	{
		name: "main thread at rest",
		unit: "% of a core",
		atMost: 15,
		figureOf: ({ restPercent }) => restPercent,
	},
	{ name: "received at rest", unit: "KB/s", figureOf: ({ bytesASecond }) => bytesASecond / 1024 },
	{
		name: "main thread, each frame while scrolling",
		unit: "ms",
		figureOf: ({ frameWorkMs }) => frameWorkMs,
	},
	...frameRanks.map((rank) => ({
		name: `frame while scrolling, p${rank}`,
		unit: "ms",
		...(rank === 50 && { atMost: frameMs }),
		figureOf: ({ framesMs }: Cost) => percentile(framesMs, rank),
	})),
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
	const rows = [...(await scriptRows())];
	const browser = await launchChromium();
	try {
		if (isWanted(slowFleet)) rows.push(...(await slowRows(browser)));
		for (const size of fleets.filter(isWanted))
			rows.push(...(await fleetRows(browser, Math.min(size, socketsAtMost()))));
		return rows;
	} finally {
		await browser.close();
	}
}

function isWanted(size: number): boolean {
	return wanted === undefined || wanted.includes(size);
}

async function scriptRows(): Promise<readonly Row[]> {
	const { assets } = await bundlePage();
	const scripts = pageScripts(assets);
	const kilobytes = (list: typeof scripts) => list.reduce((sum, { gzip }) => sum + gzip.length, 0) / 1024;
	const page = assets.get("");
	const style = [...assets.values()].filter(({ name }) => name.endsWith(".css"));
	const first = scripts.filter(({ name }) => page?.content.includes(`"${name}"`) || name === "");
	return [
		measure(
			{
				benchmark,
				what: "page and script without style, gzip",
				unit: "KB",
				target: { of: "ours", atMost: 70 },
			},
			[kilobytes(scripts) - kilobytes(style)],
		),
		measure({ benchmark, what: "page, style and script before the first device, gzip", unit: "KB" }, [
			kilobytes(first),
		]),
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

async function fleetRows(browser: Browser, size: number): Promise<readonly Row[]> {
	const ours = new Fleet(browser, size);
	try {
		await ours.start();
		const rows: Row[] = [];
		for (const [look, view] of Object.entries(looks)) {
			if (look !== "" && size < looksFrom) continue;
			const rounds: Round[] = [];
			for (let round = 0; round < roundCount; round++)
				rounds.push({
					ours: await ours.cost(view),
					bareFramesMs: await ours.during(scrollSeconds + 2, () => bareFrames(browser, size)),
				});
			const what = [size.toLocaleString("en"), "devices", look].filter(Boolean).join(" ");
			rows.push(...costRows(what, rounds), ...frameRows(what, rounds));
		}
		return rows;
	} finally {
		await ours.close();
	}
}

/** Opens a page for the first time, without a cache, and again. */
async function slowRows(browser: Browser): Promise<readonly Row[]> {
	const size = Math.min(slowFleet, socketsAtMost());
	const fleet = new Fleet(browser, size);
	const rounds: Record<SlowVisit, SlowCost>[] = [];
	const summaries: Sides<SummaryCost>[] = [];
	try {
		await fleet.start();
		for (let round = 0; round < roundCount; round++)
			summaries.push({ ours: await fleet.summaryCost(true), reference: await fleet.summaryCost(false) });
		for (let round = 0; round < roundCount; round++)
			rounds.push(await fleet.during(60, () => fleet.slowCost()));
	} finally {
		await fleet.close();
	}
	const summaryRow = (name: string, unit: string, figureOf: (cost: SummaryCost) => number) =>
		compare(
			{
				benchmark,
				what: `${size.toLocaleString("en")} devices: ${name}`,
				unit,
				note: "beside the same, not compressed",
			},
			summaries.map(({ ours, reference }) => ({ ours: figureOf(ours), reference: figureOf(reference) })),
		);
	const where = `${size.toLocaleString("en")} devices over 400 kbit/s and 400 ms`;
	const visits = slowVisits.flatMap((visit) =>
		slowFigures.map(({ name, unit, atMost, figureOf }) =>
			measure(
				{
					benchmark,
					what: `${where}, ${visit}: ${name}`,
					unit,
					...(atMost !== undefined && { target: { of: "ours", atMost } as const }),
				},
				rounds.map((round) => figureOf(round[visit])),
			),
		),
	);
	return [
		...visits,
		summaryRow("a summary, the gateway's processor time", "ms", ({ cpuMs }) => cpuMs),
		summaryRow("a summary, received", "KB", ({ received }) => received / 1024),
		summaryRow(
			"a monitor that has it, the gateway's memory",
			"KB resident",
			({ resident }) => resident / 1024,
		),
	];
}

/** Gateway and its devices. */
class Fleet {
	readonly #browser: Browser;
	readonly #size: number;
	readonly #gateway = new Child<GatewayServer>("servers/gateway-server.ts");
	readonly #devices = new Child<Devices>("load/devices.ts");
	#url = "";
	#token = "";

	constructor(browser: Browser, size: number) {
		this.#browser = browser;
		this.#size = size;
	}

	async start(): Promise<void> {
		const { url, tokens } = await this.#gateway.request("listen");
		const target = { url: `${url.replace("http", "ws")}/device`, token: tokens.device };
		await this.#devices.request("connect", { target, count: this.#size });
		await this.#devices.request("introduce", { perSecond: 2000 });
		this.#url = url;
		this.#token = tokens.monitor;
	}

	/** @param view fragment of the address */
	cost(view: string): Promise<Cost> {
		const open = () => costOf(this.#browser, `${this.#url}/${view}`, this.#url, this.#token);
		return this.during(restSeconds * 1.5 + scrollSeconds + 4, open);
	}

	/** Cost of the summary for each of some simultaneous monitors. */
	async summaryCost(perMessageDeflate: boolean): Promise<SummaryCost> {
		const before = await this.#gateway.request("usage", { isSettled: true });
		let received = 0;
		const sockets = await Promise.all(
			Array.from({ length: summaryMonitors }, async () => {
				const headers = { Authorization: `Bearer ${this.#token}` };
				const address = `${this.#url.replace("http", "ws")}/monitor?summary`;
				const socket = new WebSocket(address, { headers, perMessageDeflate });
				for await (const [data] of on(socket, "message")) if (JSON.parse(String(data)).remaining === 0) break;
				const stream: unknown = Reflect.get(socket, "_socket");
				received += Number(Object(stream).bytesRead);
				return socket;
			}),
		);
		const after = await this.#gateway.request("usage", { isSettled: true });
		for (const socket of sockets) socket.terminate();
		return {
			cpuMs: (after.cpuMicros - before.cpuMicros) / 1000 / summaryMonitors,
			received: received / summaryMonitors,
			resident: (after.rss - before.rss) / summaryMonitors,
		};
	}

	async slowCost(): Promise<Record<SlowVisit, SlowCost>> {
		const link = await openSlowLink({ to: Number(new URL(this.#url).port), ...slow });
		const url = `http://127.0.0.1:${link.port}`;
		const context = await this.#browser.newContext({ viewport });
		try {
			// Same path as a user; the gateway builds its pages for the first request since its start.
			await context.request.get(`${this.#url}/login`);
			// The cookie is for all ports of the host.
			await context.request.post(`${this.#url}/login`, { form: { token: this.#token }, maxRedirects: 0 });
			const visit = async (): Promise<SlowCost> => {
				const page = await context.newPage();
				const before = link.received;
				await page.addInitScript(markFirstDevice);
				const startedAt = performance.now();
				await page.goto(url, { waitUntil: "commit" });
				await page.getByText("Live").waitFor({ timeout: 120_000 });
				const liveMs = performance.now() - startedAt;
				const received = link.received - before;
				const firstDeviceMs: number = await page.evaluate(
					'performance.getEntriesByName("first device")[0].startTime',
				);
				await page.close();
				return { firstDeviceMs, liveMs, received };
			};
			return { "first visit": await visit(), "next visit": await visit() };
		} finally {
			await context.close();
			link.close();
		}
	}

	/** Performs an action while the devices report. @param seconds minimum duration */
	async during<T>(seconds: number, action: () => Promise<T>): Promise<T> {
		const perSecond = this.#size / reportEverySeconds;
		const sent = this.#devices.request("send", { count: perSecond * seconds, perSecond });
		const result = await action();
		await sent;
		return result;
	}

	async close(): Promise<void> {
		await this.#devices.close();
		await this.#gateway.close();
	}
}

function costRows(what: string, rounds: readonly Round[]): readonly Row[] {
	return figures.flatMap(({ name, unit, atMost, figureOf }) => {
		const target: Target | undefined = atMost === undefined ? undefined : { of: "ours", atMost };
		const description = { benchmark, what: `${what}: ${name}`, unit };
		return measure(
			{ ...description, ...(target && { target }) },
			rounds.map(({ ours }) => figureOf(ours)),
		);
	});
}

function frameRows(what: string, rounds: readonly Round[]): readonly Row[] {
	return frameRanks.map((rank) =>
		compare(
			{ benchmark, what: `${what}: frame while scrolling, p${rank}`, unit: "ms", note: "beside plain rows" },
			rounds.map(({ ours, bareFramesMs }) => ({
				ours: percentile(ours.framesMs, rank),
				reference: percentile(bareFramesMs, rank),
			})),
		),
	);
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
