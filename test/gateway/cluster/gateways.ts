/** Several gateways on one bus, with monitors that record frames. */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import type { TestContext } from "node:test";
import type { Bus } from "../../../gateway/bus.js";
import { joinGateways } from "../../../gateway/cluster/join.js";
import { extensions } from "../../../gateway/extensions.js";
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
export const ofFleet = { skip: existsSync("gateway/fleet") ? false : "fleet/ was removed" };

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
			const frame: Told = await client.next();
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
			watch.client.socket.terminate();
			return device;
		},
		async published(kind) {
			const pattern = new RegExp(`^gateway_bus_publishes_total\\{kind="${kind}"\\} (\\d+)$`, "m");
			return Number(pattern.exec(await running.metrics())?.[1] ?? 0);
		},
	};
}

export interface Told extends Frame {
	readonly gateway?: string;
	readonly gateways?: number;
	readonly alone?: boolean;
	readonly releasesDiffer?: boolean;
	readonly devices?: readonly Readonly<Record<string, unknown>>[];
}

async function watchOf(running: RunningGateway, path: string) {
	const client = await running.open(path, { headers: bearer(monitorToken) });
	/** All received frames. */
	const told: Told[] = [];
	let lastText = "";
	const until = async (predicate: (frame: Told) => boolean): Promise<Told> => {
		for (;;) {
			lastText = await client.nextText();
			const frame: Told = JSON.parse(lastText);
			checkFrame(frame);
			told.push(frame);
			if (predicate(frame)) return frame;
		}
	};
	const snapshot = await until(() => true);
	assert.equal(snapshot.reason, "snapshot");
	return {
		client,
		told,
		snapshot,
		until,
		/** Text of the latest frame. */
		get lastText() {
			return lastText;
		},
		/** Waits for the next frame of each kind, in any order. */
		allOf: async (...kinds: readonly ((frame: Told) => boolean)[]) => {
			const missing = new Set(kinds);
			while (missing.size > 0) {
				const frame = await until(() => true);
				for (const predicate of missing) if (predicate(frame)) missing.delete(predicate);
			}
		},
		/** Waits for the next change of the device with this reason. */
		change: async (reason: string, deviceId: string) => {
			const { sessions } = await until(
				(frame) => frame.type === "status_update" && frame.reason === reason && deviceOf(frame) === deviceId,
			);
			const [session] = sessions;
			assert.ok(session, "the change names no device");
			return session;
		},
		/** Reasons of all changes of the device so far, in order. */
		reasons: (deviceId: string) =>
			told
				.filter((frame) => frame.type === "status_update" && frame.reason !== "snapshot")
				.filter((frame) => deviceOf(frame) === deviceId)
				.map(({ reason }) => reason),
		request: async (message: object) => {
			client.send(message);
			return until(({ type }) => type === "ack" || type === "error");
		},
	};
}

function deviceOf({ sessions }: Frame): string | null | undefined {
	return sessions[0]?.deviceId;
}
