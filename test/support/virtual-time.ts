/** Firmware in XS in virtual time, connected to a scripted gateway over a real socket. */

import type { TestContext } from "node:test";
import { setImmediate, setTimeout } from "node:timers/promises";
import type { StateReport } from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import type { VirtualDevice, VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { waitUntil } from "./eventually.js";
import { type Connection, powerOn, runScriptedGateway, type ScriptedGateway } from "./scripted-gateway.js";

export interface TimedDevice {
	readonly device: VirtualDevice;
	readonly gateway: ScriptedGateway;
	readonly connection: Connection;
	/** Advances the device's clock by milliseconds. */
	pass(ms: number): Promise<void>;
	/** Sends a command. @returns the first report for which `predicate` is true */
	command(
		command: object,
		predicate: (peripherals: StateReport["peripherals"]) => boolean,
	): Promise<StateReport>;
}

/** Powers a device on and waits for its first report. Then its clock stops. */
export async function powerOnInVirtualTime(
	t: TestContext,
	model: Model,
	options: Partial<VirtualDeviceOptions> = {},
): Promise<TimedDevice> {
	const gateway = await runScriptedGateway(t);
	const device = await powerOn(t, gateway, model, { clock: "virtual", ...options });
	const connection = await gateway.connection();
	await connection.next("state_report");
	return {
		device,
		gateway,
		connection,
		pass: (ms) => pass(device, ms),
		command(command, predicate) {
			connection.send(command);
			return connection.next("state_report", (report) => predicate(report.peripherals));
		},
	};
}

/** Advances the clock and lets this process's sockets work in between. */
export function pass(device: VirtualDevice, ms: number): Promise<void> {
	return device.machine.advance(ms, async () => {
		for (let round = 0; round < 8; round++) await setImmediate();
	});
}

/** Advances a device's clock, across its restarts, until the condition is true. */
export function passUntilTrue(
	device: VirtualDevice,
	stepMs: number,
	condition: () => boolean,
): Promise<void> {
	return waitUntil(condition, () => pass(device, stepMs).catch(() => {}));
}

/** Next connection of a device, across its restarts, and its first report. */
export async function nextConnection(device: VirtualDevice, gateway: ScriptedGateway) {
	const connection = await passUntil(device, gateway.connection());
	return { connection, report: await connection.next("state_report") };
}

/** Node's resources that do not indicate activity of connections or lookups. */
const idle: readonly string[] = ["PipeWrap", "ProcessWrap", "TCPServerWrap", "Immediate", "Timeout"];

/** Gives connections and lookups a few milliseconds of real time; none if there is no activity. */
export async function yieldToSockets(): Promise<void> {
	const isIdle = process.getActiveResourcesInfo().every((kind) => idle.includes(kind));
	await (isIdle ? setImmediate() : setTimeout(3));
}

/**
 * Advances a device's clock, across its restarts, until a promise settles. Real sockets get a few milliseconds per
 * step of the device's, so that only real silence counts as silence.
 *
 * @param onStep called before each step
 */
export async function passUntil<T>(
	device: VirtualDevice,
	awaited: Promise<T>,
	stepMs = 250,
	onStep = () => {},
): Promise<T> {
	let isOver = false;
	const end = () => {
		isOver = true;
	};
	awaited.then(end, end);
	while (!isOver) {
		await yieldToSockets();
		onStep();
		// The machine may end meanwhile; the next round advances its successor.
		await device.machine.advance(stepMs).catch(() => {});
	}
	return awaited;
}
