/** The virtual device: what it takes to start one and to keep one, and the least heap in which its firmware runs. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { buildMachine, type Program } from "../../hosts/virtual/node/build.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { boardLimits, type Limits } from "../../hosts/virtual/node/machine.js";
import { VirtualDevice, type VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { Commander } from "./load/commander.js";
import { alternate, pick, roundCount } from "./rounds.js";
import { compare, type Row } from "./row.js";
import { startGateway } from "./servers/start-gateway.js";

const benchmark = "device";
const settleMs = 2000;
/** Steps between a heap of nothing and that of a board. */
const heapSteps = 64;
const slotBytes = 16;
/** Enough for each kind of command to have come by, and for the collector to have run. */
const commandCount = 40;
const answerMs = 3000;

export async function run(): Promise<readonly Row[]> {
	const gateway = startGateway();
	try {
		const [{ url, tokens }, program] = await Promise.all([
			gateway.ask("listen"),
			buildFirmware(),
			buildMachine(),
		]);
		const base = url.replace("http", "ws");
		const options: VirtualDeviceOptions = {
			model: "DEV-1",
			serial: "a1b2c3",
			settings: { gateway: `${base}/device`, token: tokens.device },
			program,
		};
		const monitor = { url: `${base}/monitor`, token: tokens.monitor };
		return [
			await compareStarts(options),
			...(existsSync("/proc/self/smaps_rollup") ? [await compareMemory(options)] : []),
			await findLeastHeap(options, program, monitor),
		];
	} finally {
		await gateway.close();
	}
}

async function compareStarts(options: VirtualDeviceOptions): Promise<Row> {
	const device = timed(async () => {
		const device = await VirtualDevice.start(options);
		return () => device.close();
	});
	const node = timed(async () => {
		const child = spawn(process.execPath, ["-e", ""], { stdio: "ignore" });
		await once(child, "exit");
		return async () => {};
	});
	await device();
	await node();
	const rounds = await alternate(device, node, roundCount * 2);
	return compare(
		{ benchmark, what: "start, all compiled, beside an empty Node", unit: "ms" },
		pick(rounds, (milliseconds) => milliseconds),
	);
}

/** @param start returns what undoes it, which is not timed */
function timed(start: () => Promise<() => Promise<unknown>>): () => Promise<number> {
	return async () => {
		const began = performance.now();
		const undo = await start();
		const milliseconds = performance.now() - began;
		await undo();
		return milliseconds;
	};
}

async function compareMemory(options: VirtualDeviceOptions): Promise<Row> {
	const device = async () => {
		const running = await VirtualDevice.start(options);
		await setTimeout(settleMs);
		const memory = proportionalKilobytes(running.machine.pid);
		await running.close();
		return memory;
	};
	const node = async () => {
		const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
		await setTimeout(settleMs);
		const memory = proportionalKilobytes(child.pid);
		child.kill();
		await once(child, "exit");
		return memory;
	};
	const rounds = await alternate(device, node);
	return compare(
		{ benchmark, what: "memory (PSS) of a device that reports, beside an idle Node", unit: "KB" },
		pick(rounds, (kilobytes) => kilobytes),
	);
}

function proportionalKilobytes(pid: number | undefined): number {
	return Number(/^Pss: +(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]);
}

type Address = { readonly url: string; readonly token: string };

/** All pools of a board's heap shrink alike until the firmware cannot do its work any more. */
async function findLeastHeap(
	options: VirtualDeviceOptions,
	program: Program,
	monitor: Address,
): Promise<Row> {
	let [tooSmall, enough] = [0, heapSteps];
	while (enough - tooSmall > 1) {
		const middle = Math.floor((enough + tooSmall) / 2);
		if (await worksWith({ ...options, program, limits: scaled(middle / heapSteps) }, monitor))
			enough = middle;
		else tooSmall = middle;
	}
	return compare(
		{
			benchmark,
			what: "least heap in which it connects, reports and obeys, beside a board's",
			unit: "KB",
		},
		[{ ours: kilobytesOf(scaled(enough / heapSteps)), reference: kilobytesOf(boardLimits) }],
	);
}

/** Property names are not counted: they are the same for any heap. */
function scaled(factor: number): Limits {
	const { chunkBytes, slots, stackSlots, keys } = boardLimits;
	return {
		chunkBytes: Math.ceil((chunkBytes * factor) / slotBytes) * slotBytes,
		slots: Math.ceil(slots * factor),
		stackSlots: Math.ceil(stackSlots * factor),
		keys,
	};
}

function kilobytesOf({ chunkBytes, slots, stackSlots }: Limits): number {
	return (chunkBytes + (slots + stackSlots) * slotBytes) / 1024;
}

async function worksWith(options: VirtualDeviceOptions, monitor: Address): Promise<boolean> {
	let hasEnded = false;
	const commander = await Commander.connect(monitor);
	try {
		const device = await VirtualDevice.start({
			...options,
			onExit: () => {
				hasEnded = true;
			},
		});
		try {
			await commander.report(answerMs);
			for (let count = 0; count < commandCount; count++) {
				await commander.roundTrip(device.deviceId, commandAt(count), answerMs);
				await setTimeout(25);
			}
			return !hasEnded;
		} finally {
			await device.close();
		}
	} catch {
		return false;
	} finally {
		commander.close();
	}
}

/** Each makes the device report. */
function commandAt(count: number): object {
	switch (count % 4) {
		case 0:
			return { command: "set_volume", value: 1 + (count % 99) };
		case 1:
			return { command: "set_led", value: count % 8 === 1 ? "failed" : "rainbow" };
		case 2:
			return { command: "set_brightness", value: (count % 50) / 50 };
		default:
			return { command: "query_state" };
	}
}
