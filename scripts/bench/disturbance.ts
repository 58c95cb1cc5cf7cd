/** Whether clients that misbehave are felt by the others: the latency of a small fleet's reports, with them and without. */

import { setTimeout } from "node:timers/promises";
import { compareWithQuiet, type Disturbance, settleMs, usualLoad } from "./beside-quiet.js";
import { Child } from "./child.js";
import type { Devices } from "./load/devices.js";
import type { Troublemaker } from "./load/troublemaker.js";
import { alternate } from "./rounds.js";
import { compare, type Row } from "./row.js";
import { type Load, Side } from "./sides.js";

const benchmark = "disturbance";
const devices = 200;
const monitors = 5;
const reconnecting = 1000;
/** While most of those are still told to come back later. */
const firstSecondsLoad: Load = { count: 3000, perSecond: 1000 };
/** Until all of those are back, at the rate at which they are let in. */
const reconnectLoad: Load = { count: 20_000, perSecond: 1000 };
const wrongTokensASecond = 500;

export async function run(): Promise<readonly Row[]> {
	// With the limits that it has in life: they are what keeps a crowd off.
	const side = await Side.gateway({});
	const trouble = new Child<Troublemaker>("load/troublemaker.ts", { isElsewhere: true });
	const crowd = new Child<Devices>("load/devices.ts", { isElsewhere: true });
	try {
		await side.connectDevices(devices);
		await side.setMonitors(monitors);
		await side.relay(usualLoad);
		const disturbances: readonly Disturbance[] = [
			{
				what: "one monitor never reads",
				begin: async () => {
					await trouble.ask("unread", { target: side.monitor });
					return () => trouble.ask("stop");
				},
			},
			{
				what: "one monitor sends garbage at full speed",
				begin: async () => {
					await trouble.ask("garbage", { target: side.monitor });
					return () => trouble.ask("stop");
				},
			},
			{
				what: "one device sends valid uplinks at full speed",
				begin: async () => {
					await trouble.ask("uplinks", { target: side.device });
					return () => trouble.ask("stop");
				},
			},
			{
				what: `${wrongTokensASecond} wrong tokens a second`,
				begin: async () => {
					await trouble.ask("wrongTokens", { target: side.device, perSecond: wrongTokensASecond });
					return () => trouble.ask("stop");
				},
			},
			{
				what: `${reconnecting} devices reconnect at once`,
				during: reconnectLoad,
				begin: async () => {
					const back = crowd.ask("reconnect", { target: side.device });
					return () => back;
				},
			},
		];
		const rows: Row[] = [];
		for (const disturbance of disturbances) {
			if (disturbance.what.includes("reconnect"))
				await crowd.ask("connect", { target: side.device, count: reconnecting, first: 100_000 });
			rows.push(...(await compareWithQuiet(side, benchmark, disturbance)));
		}
		rows.push(await compareWithBare(side, crowd));
		return rows;
	} finally {
		await Promise.all([side.close(), trouble.close(), crowd.close()]);
	}
}

/** How much of it is the price of closing and opening so many connections in Node, whoever does it. */
async function compareWithBare(side: Side, crowd: Child<Devices>): Promise<Row> {
	const bare = await Side.bare();
	const otherCrowd = new Child<Devices>("load/devices.ts", { isElsewhere: true });
	const latency = async (side: Side, crowd: Child<Devices>) => {
		const back = crowd.ask("reconnect", { target: side.device });
		const relayed = await side.relay(firstSecondsLoad);
		await back;
		await setTimeout(settleMs);
		return relayed.p99Micros;
	};
	try {
		await bare.connectDevices(devices);
		await bare.setMonitors(monitors);
		await otherCrowd.ask("connect", { target: bare.device, count: reconnecting, first: 100_000 });
		const rounds = await alternate(
			() => latency(side, crowd),
			() => latency(bare, otherCrowd),
		);
		return compare(
			{
				benchmark,
				what: `${reconnecting} devices reconnect at once, the first 3 s: the others' latency p99, beside a bare ws server`,
				unit: "µs",
			},
			rounds,
		);
	} finally {
		await Promise.all([bare.close(), otherCrowd.close()]);
	}
}
