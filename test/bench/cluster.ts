/**
 * Several gateways on one nats-server: cost of a report whose monitors are on another gateway than its device, and
 * cost of a device in one process and in five. CLUSTER_DEVICES=18000,6000 sets the devices of a single gateway and of
 * each of five (18,000); 0: only the first benchmark.
 */

import { setTimeout } from "node:timers/promises";
import { whyMissing } from "../support/programs.js";
import { Child } from "./child.js";
import type { Devices } from "./load/devices.js";
import type { Monitors } from "./load/monitors.js";
import { alternate, pick } from "./rounds.js";
import { compare, measure, type Row } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";
import { NatsServer } from "./servers/nats-server.js";
import { startGateway } from "./servers/start-gateway.js";
import type { Load } from "./sides.js";
import { socketsAtMost } from "./sockets.js";

const benchmark = "cluster";
const fleet = 1000;
const monitorCounts = [1, 10];
const load: Load = { count: 3000, perSecond: 2000 };
const warmUp: Load = { count: 4000, perSecond: 4000 };
const gatewayCount = 5;
/** Devices of a single gateway, and of each of five. */
const [aloneAtMost = 18_000, eachAtMost = 18_000] = (process.env.CLUSTER_DEVICES ?? "")
	.split(",")
	.flatMap((text) => Number(text) || []);
const measuredMs = 30_000;
/** First reports at each of five gateways: about as many as two cores store; more would wait in memory. */
const sharedASecond = 200;
/** Maximum processor time of a device without reports, per second. */
const idleMicros = 5;

export async function run(): Promise<readonly Row[]> {
	if (whyMissing("nats-server")) {
		console.error("cluster: nats-server is not installed (apt-get install nats-server)");
		return [];
	}
	return [...(await runRelay()), ...(process.env.CLUSTER_DEVICES === "0" ? [] : await runScale())];
}

/** Gateway with its own devices and monitors. */
class Member {
	readonly devices = new Child<Devices>("load/devices.ts", { hasLowPriority: true });
	readonly monitors = new Child<Monitors>("load/monitors.ts", { hasLowPriority: true });
	readonly server: Child<GatewayServer> = startGateway();
	#base = "";
	#tokens = { device: "", monitor: "" };

	/** @param bus undefined: no bus */
	async start(bus?: string): Promise<this> {
		if (bus) await this.server.request("join", bus);
		const { url, tokens } = await this.server.request("listen");
		this.#base = url.replace("http", "ws");
		this.#tokens = tokens;
		return this;
	}

	connectDevices(count: number, first = 0) {
		const target = { url: `${this.#base}/device`, token: this.#tokens.device };
		return this.devices.request("connect", { target, count, first });
	}

	connectMonitors(count: number) {
		const target = { url: `${this.#base}/monitor`, token: this.#tokens.monitor };
		return this.monitors.request("connect", { target, count });
	}

	async cpuMicros(): Promise<number> {
		return (await this.server.request("usage", { isSettled: false })).cpuMicros;
	}

	async close(): Promise<void> {
		await Promise.all([this.devices.close(), this.monitors.close(), this.server.close()]);
	}
}

async function runRelay(): Promise<readonly Row[]> {
	const nats = await NatsServer.start();
	const alone = await new Member().start();
	const [owner, other] = [await new Member().start(nats.url), await new Member().start(nats.url)];
	const members = [alone, owner, other];
	/** @returns processor time of the gateways, and of nats-server, per report */
	const relay = async (
		gateways: readonly Member[],
		devices: Member,
		monitors: Member | undefined,
		what: Load,
	) => {
		const used = async () =>
			(await Promise.all(gateways.map((each) => each.cpuMicros()))).reduce((a, b) => a + b);
		const [before, beforeNats] = [await used(), nats.cpuMicros()];
		await monitors?.monitors.request("start");
		const { sent } = await devices.devices.request("send", what);
		const seen = await monitors?.monitors.request("finish", { expected: sent });
		if (!monitors) await setTimeout(200);
		return {
			cpuMicros: ((await used()) - before) / sent,
			natsMicros: (nats.cpuMicros() - beforeNats) / sent,
			...(seen ?? { lost: 0, p50Micros: 0, p99Micros: 0 }),
		};
	};
	try {
		for (const each of [alone, owner]) {
			await each.connectDevices(fleet);
			await each.devices.request("introduce", { perSecond: 2000 });
		}
		await setTimeout(5_000);
		const shared = (what: Load) => relay([owner, other], owner, other, what);
		const local = (what: Load) => relay([alone], alone, alone, what);
		const rows = [await quietRow(owner, () => relay([owner], owner, undefined, warmUp))];
		let connected = 0;
		for (const monitors of monitorCounts) {
			for (const each of [alone, other]) await each.connectMonitors(monitors - connected);
			connected = monitors;
			// Waits until the interest is known and the code is compiled.
			await setTimeout(3_000);
			for (const each of [shared, local, shared, local]) await each(warmUp);
			const rounds = await alternate(
				() => shared(load),
				() => local(load),
			);
			const what = `${fleet} devices, ${monitors} monitors on another gateway`;
			const target = { of: "ratio", atMost: 1.3 } as const;
			rows.push(
				compare(
					{
						benchmark,
						what: `${what}: CPU a report, both gateways`,
						unit: "µs",
						...(monitors === 10 && { target }),
					},
					pick(rounds, ({ cpuMicros }) => cpuMicros),
				),
				measure(
					{ benchmark, what: `${what}: CPU a report, nats-server`, unit: "µs" },
					rounds.map(({ ours }) => ours.natsMicros),
				),
				compare(
					{ benchmark, what: `${what}: latency p50`, unit: "µs" },
					pick(rounds, ({ p50Micros }) => p50Micros),
				),
				compare(
					{ benchmark, what: `${what}: latency p99`, unit: "µs" },
					pick(rounds, ({ p99Micros }) => p99Micros),
				),
				measure({ benchmark, what: `${what}: reports lost`, unit: "", target: { of: "ours", atMost: 0 } }, [
					Math.max(...rounds.map(({ ours }) => ours.lost)),
				]),
			);
		}
		return rows;
	} finally {
		await Promise.all(members.map((each) => each.close()));
		await nats.close();
	}
}

async function quietRow(owner: Member, send: () => Promise<unknown>): Promise<Row> {
	const before = await owner.server.request("publishedReports");
	await send();
	const published = (await owner.server.request("publishedReports")) - before;
	return measure(
		{
			benchmark,
			what: "reports published, no monitor elsewhere",
			unit: "",
			target: { of: "ours", atMost: 0 },
		},
		[published],
	);
}

/** Memory and processor time of the gateways per device. */
async function runScale(): Promise<readonly Row[]> {
	const one = await measureFleet(1, Math.min(aloneAtMost, socketsAtMost()), 5);
	const five = await measureFleet(gatewayCount, Math.min(eachAtMost, socketsAtMost()), 30);
	return [...one, ...five];
}

async function measureFleet(gateways: number, count: number, everySeconds: number): Promise<readonly Row[]> {
	const nats = gateways > 1 ? await NatsServer.start() : undefined;
	const members = await Promise.all(Array.from({ length: gateways }, () => new Member().start(nats?.url)));
	const total = gateways * count;
	const usages = () => Promise.all(members.map(({ server }) => server.request("usage", { isSettled: true })));
	const cpu = async () =>
		(await Promise.all(members.map((each) => each.cpuMicros()))).reduce((a, b) => a + b);
	const perSecond = count / everySeconds;
	const all = (work: (member: Member, index: number) => Promise<unknown>) => Promise.all(members.map(work));
	try {
		// Compiled code and the like are not a cost of a device.
		await all((member, index) => member.connectDevices(200, 10_000_000 + index * 1000));
		await all(({ devices }) => devices.request("introduce", { perSecond: 200 }));
		await setTimeout(3_000);
		const before = await usages();
		const began = performance.now();
		await all((member, index) => member.connectDevices(count, index * count));
		await all(({ devices }) => devices.request("introduce", { perSecond: nats ? sharedASecond : perSecond }));
		const settledSeconds = await settle(cpu, total, began);
		const after = await usages();
		const kilobytes = (of: "rss" | "heap") =>
			after.reduce((sum, usage, index) => sum + usage[of] - (before[index]?.[of] ?? 0), 0) / total / 1024;
		const [usedBefore, natsBefore] = [await cpu(), nats?.cpuMicros() ?? 0];
		await all(({ devices }) =>
			devices.request("send", { count: Math.round((perSecond * measuredMs) / 1000), perSecond }),
		);
		const used = (await cpu()) - usedBefore;
		const usedByNats = (nats?.cpuMicros() ?? 0) - natsBefore;
		const what = `${gateways === 1 ? "one gateway" : `${gateways} gateways`}, ${total} devices at ${everySeconds} s`;
		const target = { of: "ours", atMost: 12 } as const;
		const rows = [
			measure({ benchmark, what: `${what}: memory a device (resident)`, unit: "KB", target }, [
				kilobytes("rss"),
			]),
			measure({ benchmark, what: `${what}: memory a device (heap and buffers)`, unit: "KB" }, [
				kilobytes("heap"),
			]),
			measure({ benchmark, what: `${what}: CPU a report`, unit: "µs" }, [
				used / ((total / everySeconds) * (measuredMs / 1000)),
			]),
			measure({ benchmark, what: `${what}: share of a core, all gateways`, unit: "" }, [
				used / 1000 / measuredMs,
			]),
			measure({ benchmark, what: `${what}: until all is settled`, unit: "s" }, [settledSeconds]),
		];
		if (!nats) return rows;
		return [
			...rows,
			measure({ benchmark, what: `${what}: share of a core, nats-server`, unit: "" }, [
				usedByNats / 1000 / measuredMs,
			]),
			measure({ benchmark, what: `${what}: memory of nats-server`, unit: "MB" }, [nats.rss() / 1024 / 1024]),
		];
	} finally {
		await Promise.all(members.map((each) => each.close()));
		await nats?.close();
	}
}

/**
 * Waits until the gateway's work for new devices is done, such as writing their records. Heartbeats continue.
 * @returns seconds since `began`
 */
async function settle(cpu: () => Promise<number>, devices: number, began: number): Promise<number> {
	for (let tries = 0; tries < 240; tries++) {
		const before = await cpu();
		await setTimeout(1_000);
		if ((await cpu()) - before < 150_000 + idleMicros * devices) break;
	}
	return (performance.now() - began) / 1000;
}
