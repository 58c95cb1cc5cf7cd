/**
 * Effect of abusive clients on others: latency of a small fleet's reports with them, without, and while they abuse
 * another gateway on this computer (the load alone also delays the measuring processes); the gateway's memory, and
 * whether devices with a valid token are accepted from the same address meanwhile.
 */

import { setInterval } from "node:timers";
import { setTimeout } from "node:timers/promises";
import { withCleanup } from "../support/cleanup.js";
import type { Child } from "./child.js";
import { alternate, pick, start } from "./harness.js";
import type { AbuseHandlers } from "./load/abuse.js";
import type { Devices } from "./load/devices.js";
import { oursAtMost, type Row, Rows, ratioAtMost } from "./row.js";
import { type Load, Side } from "./sides.js";

const table = new Rows("isolation");
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

const abuses = [
	["one monitor never reads", "unread", "monitor", 1],
	["100 connections send requests and read no response", "unreadResponses", "device", 100],
	["100 connections send bodies without end", "bodies", "device", 100],
	["300 refused upgrades a second", "wrongTokens", "device", 300],
	["5 devices send pongs and garbage at full speed", "pongs", "device", 5],
	["20 connections send wrong login codes at full speed", "loginCodes", "device", 20],
] as const;

/** Starts an abuse. @returns a function that ends it */
type Begin = (gateway: Side) => Promise<() => Promise<unknown>>;

export function run(): Promise<readonly Row[]> {
	return withCleanup(async (t) => {
		// The default limits are the subject of the benchmark.
		const side = await Side.gateway(t, { isLimited: true });
		const other = await Side.gateway(t, { isLimited: true });
		const abuser: Child<AbuseHandlers> = start(t, "load/abuse.ts", { hasLowPriority: true });
		const newcomers: Child<AbuseHandlers> = start(t, "load/abuse.ts");
		const fleet: Child<Devices> = start(t, "load/devices.ts", { hasLowPriority: true });
		await side.connectDevices(devices);
		await side.setMonitors(monitors);
		await side.relay(usualLoad);
		const rows: Row[] = [];
		for (const [what, name, role, count] of abuses) {
			const before = (await side.usage(true)).rss;
			let most = before;
			let [tried, refused] = [0, 0];
			const begin: Begin = async (gateway) => {
				await abuser.request(name, { target: gateway[role], count });
				const sampling = setInterval(async () => {
					if (gateway === side) most = Math.max(most, (await side.usage()).rss);
				}, sampleMs);
				await newcomers.request("newcomers", { target: gateway.device, count: newcomersASecond });
				return async () => {
					const attempts = await newcomers.request("stop");
					clearInterval(sampling);
					if (gateway === side) tried += attempts.tried;
					if (gateway === side) refused += attempts.refused;
					await abuser.request("stop");
				};
			};
			rows.push(
				...(await compareWithQuiet(side, other, what, begin, usualLoad)),
				table.ours(`${what}: memory`, "MB", (most - before) / 2 ** 20, oursAtMost(memoryAtMostMB)),
				table.ours(`${what}: devices with the right token refused, of ${tried}`, "", refused, oursAtMost(0)),
			);
		}
		await fleet.request("connect", { target: side.device, count: reconnecting, first: 100_000 });
		const reconnect: Begin = async () => {
			const reconnected = fleet.request("reconnect", { target: side.device });
			return () => reconnected;
		};
		const what = `${reconnecting} devices reconnect in one moment`;
		return [...rows, ...(await compareWithQuiet(side, undefined, what, reconnect, reconnectLoad))];
	});
}

/** @param other gateway that is abused for comparison @param load of the fleet meanwhile and without the abuse */
async function compareWithQuiet(
	side: Side,
	other: Side | undefined,
	what: string,
	begin: Begin,
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
	const row = (name: string, list: typeof rounds, key: "p99Micros" | "longestMicros", ratio?: number) =>
		table.compare(
			`${what}: the others' ${name}`,
			"µs",
			pick(list, (relayed) => relayed[key]),
			ratio === undefined ? undefined : ratioAtMost(ratio),
		);
	const lost = Math.max(...[...rounds, ...besideOther].map((round) => round.ours.lost));
	return [
		row("latency p99, beside a quiet gateway", rounds, "p99Micros", 2),
		...(other ? [row("latency p99, beside the same on another gateway", besideOther, "p99Micros", 2)] : []),
		row("longest latency, beside a quiet gateway", rounds, "longestMicros"),
		table.ours(`${what}: the others' reports lost`, "", lost, oursAtMost(0)),
	];
}
