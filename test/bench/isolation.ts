/**
 * Effect of abusive clients on others: latency of a small fleet's reports with them and without; the gateway's memory,
 * and whether devices with a valid token are accepted from the same address meanwhile.
 */

import { setTimeout } from "node:timers/promises";
import type { Owner } from "../support/cleanup.js";
import { type Child, start } from "./child.js";
import { compare, type Row, row } from "./harness.js";
import type { AbuseHandlers } from "./load/abuse.js";
import type { Devices } from "./load/devices.js";
import { type Load, type Relayed, Side } from "./side.js";

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
const sampleMs = 250;

const abuses = [
	["one monitor never reads", "unread", "monitor", 1],
	["100 connections send requests and read no response", "unreadResponses", "device", 100],
	["100 connections send bodies without end", "bodies", "device", 100],
	["300 rejected upgrades a second", "wrongTokens", "device", 300],
	["5 devices send pongs and garbage at full speed", "pongs", "device", 5],
	["20 connections send wrong login codes at full speed", "loginCodes", "device", 20],
] as const;

export async function run(t: Owner): Promise<readonly Row[]> {
	// The default limits are the subject of the benchmark.
	const side = await Side.gateway(t, { isLimited: true });
	const abuser: Child<AbuseHandlers> = start(t, "load/abuse.ts", { hasLowPriority: true });
	const newcomers: Child<AbuseHandlers> = start(t, "load/abuse.ts");
	const fleet: Child<Devices> = start(t, "load/devices.ts", { hasLowPriority: true });
	/** @param disturb runs beside the reports, until they are relayed */
	const beside = async (
		what: string,
		load: Load,
		disturb: (relay: () => Promise<Relayed>) => Promise<Relayed>,
	) => {
		const ours = async () => {
			const relayed = await disturb(() => side.relay(load));
			await setTimeout(settleMs);
			return relayed;
		};
		// A gateway has run for days when it is abused: its code has been compiled.
		await ours();
		return compare(what, { ours, reference: () => side.relay(load) }, [
			{ what: "the others' latency p99", unit: "µs", of: ({ p99Micros }) => p99Micros, maxRatio: 2 },
			{ what: "the others' reports lost", unit: "", of: ({ lost }) => lost, max: 0 },
		]);
	};
	await side.connectDevices(devices);
	await side.setMonitors(monitors);
	await side.relay(usualLoad);
	const rows: Row[] = [];
	for (const [what, name, role, count] of abuses) {
		const before = (await side.usage(true)).rss;
		let [most, rejected] = [before, 0];
		const latencies = await beside(what, usualLoad, async (relay) => {
			await abuser.request(name, { target: side[role], count });
			const sampling = setInterval(async () => {
				most = Math.max(most, (await side.usage()).rss);
			}, sampleMs);
			await newcomers.request("newcomers", { target: side.device, count: newcomersASecond });
			const relayed = await relay();
			rejected += (await newcomers.request("stop")).rejected;
			clearInterval(sampling);
			await abuser.request("stop");
			return relayed;
		});
		rows.push(
			...latencies,
			row(`${what}: memory`, (most - before) / 2 ** 20, { unit: "MB", max: 150 }),
			row(`${what}: devices with the right token rejected`, rejected, { unit: "", max: 0 }),
		);
	}
	await fleet.request("connect", { target: side.device, count: reconnecting, first: 100_000 });
	const reconnect = await beside(`${reconnecting} devices reconnect`, reconnectLoad, async (relay) => {
		const reconnected = fleet.request("reconnect", { target: side.device });
		const relayed = await relay();
		await reconnected;
		return relayed;
	});
	return [...rows, ...reconnect];
}
