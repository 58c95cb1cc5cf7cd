/** Gateway in virtual time, with its devices. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { UpdateRejection } from "../../../gateway/firmware/rejections.js";
import { onEnd, temporaryDirectory } from "../../support/cleanup.js";
import { waitUntil } from "../../support/eventually.js";
import { Random } from "../../support/random.js";
import { seed } from "../../support/seed.js";
import {
	type Fate,
	newVersion,
	SimulatedDevice,
	SimulatedGateway,
	startedAt,
	Timeline,
} from "./simulated-fleet.js";

export const smallest = { firmware: { version: newVersion }, target: { model: "DEV-1" } };
export const inOneGroup = { ...smallest, groups: [{ size: "rest" }] };
export const second = 1000;
export const minute = 60 * second;

/** Gateway in virtual time, with connected devices that run 1.0.0. */
export async function run(t: TestContext, ...fates: readonly Fate[]) {
	t.mock.timers.enable({ apis: ["setInterval", "setTimeout"] });
	const time = new Timeline();
	const problems: string[] = [];
	const random = new Random(seed);
	const dataDir = await temporaryDirectory(t);
	/** Latest release of each channel. */
	const releases: { latest: string; rejection?: UpdateRejection | undefined } = { latest: newVersion };
	/** Disk step at which the gateway is killed. */
	const disk = { steps: 0, dieAt: Number.POSITIVE_INFINITY };
	const onDisk = () => ++disk.steps >= disk.dieAt;
	const options = { dataDir, time, random, problems, releases, onDisk };
	const gateway = new SimulatedGateway(options);
	await gateway.open();
	onEnd(t, () => gateway.settle());
	const devices: SimulatedDevice[] = [];
	const addDevice = (fate: Fate, version = "1.0.0") => {
		const device = new SimulatedDevice(time, `dev-1-${devices.length}`, fate, version);
		device.connect(gateway.latest);
		devices.push(device);
		return device;
	};
	for (const fate of fates) addDevice(fate);
	await gateway.settle();
	const pass = async (ms: number, stepMs = second) => {
		for (let passed = 0; passed < ms; passed += stepMs) await gateway.latest.pass(stepMs);
	};
	const until = (condition: () => boolean) => waitUntil(condition, () => pass(second));
	const statuses = (id = "x") =>
		[...gateway.latest.rollouts.find(id).devices.values()].map(({ status }) => status);
	const headOf = (id = "x") => gateway.latest.rollouts.find(id).head;
	/**
	 * Kills the gateway.
	 * @param awayMs downtime
	 * @returns the next run
	 */
	const restart = async (awayMs = 0) => {
		const previous = gateway.latest;
		previous.isRunning = false;
		await previous.settle();
		time.pass(awayMs);
		const next = new SimulatedGateway(options);
		previous.next = next;
		await next.open().catch((error) => {
			if (next.isRunning) throw error;
		});
		onEnd(t, () => next.settle());
		if (awayMs > 0) await next.pass(second);
		for (const device of devices) device.connect(next.latest);
		await next.settle();
		return next;
	};
	return {
		...{ gateway, devices, time, releases, disk, dataDir, problems },
		...{ addDevice, pass, until, statuses, headOf, restart },
		/** First device. */
		get first(): SimulatedDevice {
			return devices[0] ?? assert.fail("no device");
		},
	};
}

export const at = (ms: number) => new Date(startedAt + ms).toISOString();
