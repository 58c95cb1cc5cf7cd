/**
 * Effect of abusive clients on others: latency of a small fleet's reports with them, without, and while they abuse
 * another gateway on this computer (the load alone also delays the measuring processes); and for most of them the
 * gateway's memory, and whether devices with a valid token are accepted from the same address meanwhile.
 */

import { setInterval } from "node:timers";
import { setTimeout } from "node:timers/promises";
import { Child } from "./child.js";
import type { AbusiveHttp } from "./load/abusive-http.js";
import type { AbusiveSockets } from "./load/abusive-sockets.js";
import type { Devices } from "./load/devices.js";
import type { Newcomers } from "./load/newcomers.js";
import { alternate, pick } from "./rounds.js";
import { compare, measure, type Row } from "./row.js";
import { type Load, Side } from "./sides.js";

const benchmark = "isolation";
const devices = 200;
const monitors = 5;
const reconnecting = 1000;
/** Long enough that its slowest hundredth is more than one garbage collection. */
const usualLoad: Load = { count: 10_000, perSecond: 1000 };
/** Lasts until all devices have reconnected, at the rate at which they are accepted. */
const reconnectLoad: Load = { count: 20_000, perSecond: 1000 };
/** Time for after-effects of an abuse, such as connections that are being closed. */
const settleMs = 1500;
const newcomersASecond = 10;
const memoryAtMostMB = 150;
const sampleMs = 250;

interface Abuse {
	readonly what: string;
	/** Starts it. @returns a function that ends it */
	begin(gateway: Side): Promise<() => Promise<unknown>>;
}

export async function run(): Promise<readonly Row[]> {
	// The default limits are the subject of the benchmark.
	const side = await Side.gateway({});
	const other = await Side.gateway({});
	const sockets = new Child<AbusiveSockets>("load/abusive-sockets.ts", { hasLowPriority: true });
	const http = new Child<AbusiveHttp>("load/abusive-http.ts", { hasLowPriority: true });
	const fleet = new Child<Devices>("load/devices.ts", { hasLowPriority: true });
	const newcomers = new Child<Newcomers>("load/newcomers.ts");
	try {
		await side.connectDevices(devices);
		await side.setMonitors(monitors);
		await side.relay(usualLoad);
		const rows: Row[] = [];
		for (const abuse of abusesOf(sockets, http))
			rows.push(...(await isolate({ side, other }, newcomers, abuse)));
		await fleet.request("connect", { target: side.device, count: reconnecting, first: 100_000 });
		const reconnect: Abuse = {
			what: `${reconnecting} devices reconnect in one moment`,
			begin: async () => {
				const reconnected = fleet.request("reconnect", { target: side.device });
				return () => reconnected;
			},
		};
		return [...rows, ...(await compareWithQuiet({ side }, reconnect, reconnectLoad))];
	} finally {
		await Promise.all([
			side.close(),
			other.close(),
			sockets.close(),
			http.close(),
			fleet.close(),
			newcomers.close(),
		]);
	}
}

function abusesOf(sockets: Child<AbusiveSockets>, http: Child<AbusiveHttp>): readonly Abuse[] {
	const bySockets = (what: string, start: (gateway: Side) => Promise<unknown>): Abuse => ({
		what,
		begin: async (gateway) => {
			await start(gateway);
			return () => sockets.request("stop");
		},
	});
	const byHttp = (what: string, name: Exclude<keyof AbusiveHttp, "stop">, connections: number): Abuse => ({
		what: `${connections} connections ${what}`,
		begin: async ({ device: target }) => {
			await http.request(name, { target, connections });
			return () => http.request("stop");
		},
	});
	return [
		bySockets("one monitor never reads", ({ monitor: target }) => sockets.request("unread", { target })),
		byHttp("send requests and read no response", "unread", 100),
		byHttp("send bodies without end", "bodies", 100),
		bySockets("300 refused upgrades a second", ({ device: target }) =>
			sockets.request("wrongTokens", { target, perSecond: 300 }),
		),
		bySockets("one device sends pongs at full speed", ({ device: target }) =>
			sockets.request("pongs", { target, count: 1, withGarbage: false }),
		),
		bySockets("5 devices send pongs and garbage at full speed", ({ device: target }) =>
			sockets.request("pongs", { target, count: 5, withGarbage: true }),
		),
		bySockets("one device sends its live log at full speed", ({ device: target }) =>
			sockets.request("logs", { target }),
		),
		byHttp("send wrong login codes at full speed", "loginCodes", 20),
	];
}

interface Gateways {
	readonly side: Side;
	/** Gateway that is abused for comparison. */
	readonly other?: Side;
}

async function isolate(
	gateways: Gateways,
	newcomers: Child<Newcomers>,
	{ what, begin }: Abuse,
): Promise<Row[]> {
	const { side } = gateways;
	const before = (await side.usage(true)).rss;
	let most = before;
	let [tried, refused] = [0, 0];
	const beginWithNewcomers = async (gateway: Side) => {
		const end = await begin(gateway);
		const sampling = setInterval(async () => {
			if (gateway === side) most = Math.max(most, (await side.usage()).rss);
		}, sampleMs);
		await newcomers.request("begin", { target: gateway.device, perSecond: newcomersASecond });
		return async () => {
			const attempts = await newcomers.request("stop");
			clearInterval(sampling);
			if (gateway === side) tried += attempts.tried;
			if (gateway === side) refused += attempts.refused;
			await end();
		};
	};
	const latency = await compareWithQuiet(gateways, { what, begin: beginWithNewcomers }, usualLoad);
	return [
		...latency,
		measure(
			{ benchmark, what: `${what}: memory`, unit: "MB", target: { of: "ours", atMost: memoryAtMostMB } },
			[(most - before) / 2 ** 20],
		),
		measure(
			{
				benchmark,
				what: `${what}: devices with the right token refused, of ${tried}`,
				unit: "",
				target: { of: "ours", atMost: 0 },
			},
			[refused],
		),
	];
}

/** @param load load of the fleet meanwhile and without the abuse */
async function compareWithQuiet(
	{ side, other }: Gateways,
	{ what, begin }: Abuse,
	load: Load,
): Promise<Row[]> {
	const during = (gateway: Side) => async () => {
		const end = await begin(gateway);
		const relayed = await side.relay(load);
		await end();
		await setTimeout(settleMs);
		return relayed;
	};
	const abused = during(side);
	// A gateway has run for days when it is abused: its code has been compiled.
	await abused();
	const rounds = await alternate(abused, () => side.relay(load));
	const besideOther = other ? await alternate(abused, during(other)) : [];
	const ofOthers = `${what}: the others'`;
	const target = { of: "ratio", atMost: 2 } as const;
	return [
		compare(
			{ benchmark, what: `${ofOthers} latency p99, beside a quiet gateway`, unit: "µs", target },
			pick(rounds, ({ p99Micros }) => p99Micros),
		),
		...(other
			? [
					compare(
						{
							benchmark,
							what: `${ofOthers} latency p99, beside the same on another gateway`,
							unit: "µs",
							target,
						},
						pick(besideOther, ({ p99Micros }) => p99Micros),
					),
				]
			: []),
		compare(
			{ benchmark, what: `${ofOthers} longest latency, beside a quiet gateway`, unit: "µs" },
			pick(rounds, ({ longestMicros }) => longestMicros),
		),
		measure({ benchmark, what: `${ofOthers} reports lost`, unit: "", target: { of: "ours", atMost: 0 } }, [
			Math.max(...[...rounds, ...besideOther].map((round) => round.ours.lost)),
		]),
	];
}
