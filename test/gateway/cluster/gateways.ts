/** Several gateways on one bus, with monitors that record frames. */

import assert from "node:assert/strict";
import { hostname } from "node:os";
import type { TestContext } from "node:test";
import type { Bus } from "../../../gateway/bus.js";
import { joinGateways } from "../../../gateway/cluster/extension.js";
import { extensions } from "../../../gateway/extensions.js";
import { needs } from "../../support/extensions.js";
import { bearer, monitorToken } from "../../support/gateway-settings.js";
import {
	type Frame,
	type RunningGateway,
	type RunOptions,
	runGateway,
	temporaryDirectory,
} from "../../support/running.js";
import { ScriptedDevice, type ScriptedDeviceOptions } from "../../support/scripted-device.js";
import { checkFrame } from "../api/schemas.js";
import type { Buses } from "./bus-contract.js";

/** Options of tests that require fleet/. */
export const ofFleet = needs("fleet");

/** Extensions without the page, whose build takes seconds. */
const withoutPage = extensions.filter(({ name }) => name !== "createDashboard");

/** Heartbeat interval: short for tests, long enough for a busy computer. */
export const limits = { gatewayBeatMs: 200, subscribeMs: 20, summaryPauseMs: 10, snapshotDebounceMs: 10 };

export interface Clustered extends RunningGateway {
	readonly bus: Bus;
	readonly name: string;
	/** Connects a device; resolves once this gateway has its report. */
	join(deviceId: string, options?: Partial<ScriptedDeviceOptions>): Promise<ScriptedDevice>;
	/** Connects a monitor; resolves after its snapshot. */
	watch(path?: string): Promise<Watch>;
	/** Number of messages of a kind sent to other gateways so far. */
	published(kind: string): Promise<number>;
}

export type Watch = Awaited<ReturnType<typeof watchOf>>;

type Two = readonly [Clustered, Clustered];
type Three = readonly [...Two, Clustered];

/** @returns gateways connected to each other */
export function runGateways(t: TestContext, buses: Buses, count: 2, options?: RunOptions): Promise<Two>;
export function runGateways(t: TestContext, buses: Buses, count: 3, options?: RunOptions): Promise<Three>;
export async function runGateways(
	t: TestContext,
	buses: Buses,
	count: number,
	options: RunOptions = {},
): Promise<readonly Clustered[]> {
	const gateways: Clustered[] = [];
	for (let index = 0; index < count; index += 1)
		gateways.push(await runClustered(t, await buses.connect(), options));
	for (const gateway of gateways) {
		const client = await gateway.open("/monitor?cluster", { headers: bearer(monitorToken) });
		client.send({ type: "subscribe", summary: false });
		for (let known = 0; known < count; ) {
			const frame = await client.next();
			known = frame.gateways ?? 0;
		}
		client.socket.terminate();
	}
	return gateways;
}

export async function runClustered(t: TestContext, bus: Bus, options: RunOptions = {}): Promise<Clustered> {
	const dataDir = options.dataDir ?? (await temporaryDirectory(t));
	const running = await runGateway(t, {
		...options,
		dataDir,
		...joinGateways(bus, dataDir, options.extensions ?? withoutPage),
		limits: { ...limits, ...options.limits },
	});
	const { url } = running;
	return {
		...running,
		bus,
		name: `${hostname()}:${new URL(url).port}`,
		watch: (path = "/monitor") => watchOf(running, path),
		async join(deviceId, deviceOptions = {}) {
			const watch = await watchOf(running, "/monitor");
			// Rejected without fleet/: the monitor then receives everything.
			await watch.request({ type: "subscribe", summary: false, devices: [deviceId] });
			const device = new ScriptedDevice({ url, deviceId, ...deviceOptions });
			await device.connect();
			await watch.until((frame) => frame.type === "device_message" && frame.deviceId === deviceId);
			watch.socket.terminate();
			return device;
		},
		async published(kind) {
			const pattern = new RegExp(`^gateway_bus_publishes_total\\{kind="${kind}"\\} (\\d+)$`, "m");
			return Number(pattern.exec(await running.metrics())?.[1] ?? 0);
		},
	};
}

async function watchOf(running: RunningGateway, path: string) {
	const client = await running.open(path, { headers: bearer(monitorToken) });
	/** Frames read so far. */
	const told: Frame[] = [];
	client.onFrame = (frame) => {
		checkFrame(frame);
		told.push(frame);
	};
	const snapshot = await client.next();
	assert.equal(snapshot.reason, "snapshot");
	return Object.assign(client, {
		told,
		snapshot,
		/** Waits for the next frame of each kind, in any order. */
		allOf: async (...kinds: readonly ((frame: Frame) => boolean)[]) => {
			const missing = new Set(kinds);
			while (missing.size > 0) {
				const frame = await client.next();
				for (const predicate of missing) if (predicate(frame)) missing.delete(predicate);
			}
		},
		/** Reasons of all changes of the device so far, in order. */
		reasons: (deviceId: string) =>
			told
				.filter((frame) => frame.type === "status_update" && frame.reason !== "snapshot")
				.filter(({ sessions: [session] }) => session?.deviceId === deviceId)
				.map(({ reason }) => reason),
	});
}
