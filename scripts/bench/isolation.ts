/**
 * Whether clients without a token are felt by the others: the latency of a small fleet's reports, the gateway's memory,
 * and whether devices with the right token are let in from the same address meanwhile.
 */

import { setInterval } from "node:timers";
import { compareWithQuiet, type Disturbance, usualLoad } from "./beside-quiet.js";
import { Child } from "./child.js";
import type { Newcomers } from "./load/newcomers.js";
import type { StrangersLoad } from "./load/strangers.js";
import type { Troublemaker } from "./load/troublemaker.js";
import { measure, type Row } from "./row.js";
import { Side } from "./sides.js";

const benchmark = "isolation";
const devices = 200;
const monitors = 5;
const newcomersASecond = 10;
const memoryAtMostMB = 150;
const sampleMs = 250;

export async function run(): Promise<readonly Row[]> {
	// With the limits that it has by default: these are what is measured.
	const side = await Side.gateway({});
	const trouble = new Child<Troublemaker>("load/troublemaker.ts", { isElsewhere: true });
	const strangers = new Child<StrangersLoad>("load/strangers.ts", { isElsewhere: true });
	const newcomers = new Child<Newcomers>("load/newcomers.ts");
	try {
		await side.connectDevices(devices);
		await side.setMonitors(monitors);
		await side.relay(usualLoad);
		const target = side.device;
		const disturbances: Readonly<Record<string, Disturbance["begin"]>> = {
			"100 connections send requests and read no answer": async () => {
				await strangers.ask("unread", { target, connections: 100 });
				return () => strangers.ask("stop");
			},
			"100 connections send bodies without end": async () => {
				await strangers.ask("bodies", { target, connections: 100 });
				return () => strangers.ask("stop");
			},
			"300 refused upgrades a second": async () => {
				await trouble.ask("wrongTokens", { target, perSecond: 300 });
				return () => trouble.ask("stop");
			},
			"one device sends pongs at full speed": async () => {
				await trouble.ask("pongs", { target, count: 1, withGarbage: false });
				return () => trouble.ask("stop");
			},
			"5 devices send pongs and garbage at full speed": async () => {
				await trouble.ask("pongs", { target, count: 5, withGarbage: true });
				return () => trouble.ask("stop");
			},
			"20 connections send wrong login codes at full speed": async () => {
				await strangers.ask("loginCodes", { target, connections: 20 });
				return () => strangers.ask("stop");
			},
		};
		const rows: Row[] = [];
		for (const [what, begin] of Object.entries(disturbances))
			rows.push(...(await isolate(side, newcomers, { what, begin })));
		return rows;
	} finally {
		await Promise.all([side.close(), trouble.close(), strangers.close(), newcomers.close()]);
	}
}

async function isolate(
	side: Side,
	newcomers: Child<Newcomers>,
	{ what, begin }: Disturbance,
): Promise<Row[]> {
	const before = (await side.usage(true)).rss;
	let most = before;
	let [tried, refused] = [0, 0];
	const beginWithNewcomers = async () => {
		const end = await begin();
		const sampling = setInterval(async () => {
			most = Math.max(most, (await side.usage()).rss);
		}, sampleMs);
		await newcomers.ask("begin", { target: side.device, perSecond: newcomersASecond });
		return async () => {
			const visits = await newcomers.ask("stop");
			clearInterval(sampling);
			tried += visits.tried;
			refused += visits.refused;
			await end();
		};
	};
	const latency = await compareWithQuiet(side, benchmark, { what, begin: beginWithNewcomers });
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
