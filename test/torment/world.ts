/**
 * Environment of the gateway: devices behind their links, monitors, firmware, and the records of what happened.
 */

import { setTimeout as pause } from "node:timers/promises";
import { idOf } from "../../device/protocol/models.js";
import { type Model, models } from "../../device/protocol/schema.js";
import type { Program } from "../../hosts/virtual/node/build.js";
import { macAddressOf } from "../../hosts/virtual/node/identity.js";
import { FaultyLink } from "../support/faulty-link.js";
import { Random } from "../support/random.js";
import { SimulatedTormentDevice, type TormentDevice } from "./device.js";
import { GatewayProcess } from "./gateway-process.js";
import { Images } from "./images.js";
import type { Journal } from "./journal.js";
import { DeviceRecord, Ledger } from "./ledger.js";
import { Monitor } from "./monitor.js";
import { Rollouts } from "./rollouts.js";
import type { Action } from "./schedule.js";
import { VirtualTormentDevice } from "./virtual.js";

/** Device and its link to the gateway. */
export interface Place {
	readonly record: DeviceRecord;
	readonly device: TormentDevice;
	readonly line: FaultyLink;
	/** Whether an action has switched it off or changed its link, and will restore it. */
	isHeld: boolean;
}

/** Objects of an action, and the source of its other parameters. */
export interface Chosen {
	readonly place: Place;
	readonly monitor: Monitor;
	readonly random: Random;
}

export const stepMs = 500;
/** First devices: one of each model. */
const virtualDevices = models.length;
export const monitorCount = 4;
const pollMs = 100;

export class World {
	readonly journal: Journal;
	readonly gateway: GatewayProcess;
	readonly images: Images;
	readonly ledger: Ledger;
	readonly places: readonly Place[];
	readonly monitors: readonly Monitor[];
	readonly rollouts = new Rollouts(this);
	/** Files that were damaged while the gateway was down and that it has not written since. */
	readonly damaged = new Set<string>();
	/** Settles once the gateway is up and its records were checked. Nothing may change them before. */
	whenChecked: Promise<void> = Promise.resolve();
	isUploading = false;
	/** Latest requested brightness in millionths; another one each time. */
	brightness = 0;
	readonly #tasks = new Set<Promise<void>>();

	private constructor(folder: string, journal: Journal, images: Images, places: readonly Place[]) {
		this.journal = journal;
		this.images = images;
		this.places = places;
		this.gateway = new GatewayProcess(folder, journal);
		const records = places.map(({ record }) => record);
		this.ledger = new Ledger(records, journal);
		const port = () => this.gateway.port;
		this.monitors = Array.from(
			{ length: monitorCount },
			(_, number) => new Monitor({ name: `monitor-${number}`, port, ledger: this.ledger, journal }),
		);
	}

	/** @param program for virtual devices */
	static async make(
		folder: string,
		devices: number,
		draw: Random,
		journal: Journal,
		program: Program,
	): Promise<World> {
		const images = new Images();
		const places: Place[] = [];
		for (let number = 0; number < devices; number += 1) {
			const model: Model = models[Number(number % 3 === 0)] ?? "DEV-1";
			const serial = number.toString(16).padStart(6, "0");
			const record = new DeviceRecord(idOf(model, macAddressOf(serial)), model);
			const line = await FaultyLink.open();
			const isNamedByHeader = number % 7 !== 0;
			const ownDraw = draw.fork(record.deviceId);
			const isVirtual = number < virtualDevices;
			const device = isVirtual
				? new VirtualTormentDevice({ record, line, program, journal })
				: new SimulatedTormentDevice({ record, line, draw: ownDraw, images, journal, isNamedByHeader });
			places.push({ record, device, line, isHeld: false });
		}
		return new World(folder, journal, images, places);
	}

	/** Objects of an action. @throws RangeError if they do not exist */
	choose({ device, monitor: number, seed }: Action): Chosen {
		const [place, monitor] = [this.places[device], this.monitors[number]];
		if (!place || !monitor) throw new RangeError(`there is no device ${device} or monitor ${number}`);
		return { place, monitor, random: new Random(seed) };
	}

	/** Connects devices to the gateway's current port, or to none. */
	connectLines(port: number | undefined): void {
		for (const { line } of this.places) line.route(port);
	}

	/** Runs a task beside the steps. An exception is a bug of this program. */
	start(task: () => Promise<void>): void {
		const running = task().catch((error: unknown) =>
			this.journal.break(`internal error of the torment: ${error instanceof Error ? error.stack : error}`),
		);
		this.#tasks.add(running);
		void running.finally(() => this.#tasks.delete(running));
	}

	/** Runs a task on a device that no other task holds; otherwise does nothing. */
	hold(place: Place, task: () => Promise<void>): void {
		if (place.isHeld) return;
		place.isHeld = true;
		this.start(async () => {
			await task();
			place.isHeld = false;
		});
	}

	/** Resolves when all tasks have ended. */
	async settle(): Promise<void> {
		while (this.#tasks.size > 0) await Promise.all(this.#tasks);
	}

	/**
	 * Waits until there is no problem.
	 *
	 * @param findProblem returns a description, or undefined
	 * @throws Error if there is one after `ms` milliseconds
	 */
	async until(
		findProblem: () => Promise<string | undefined> | string | undefined,
		ms: number,
	): Promise<void> {
		const deadline = performance.now() + ms;
		for (;;) {
			const problem = await findProblem();
			this.journal.check();
			if (problem === undefined) return;
			if (performance.now() > deadline) this.journal.break(`still after ${ms / 1000} s: ${problem}`);
			this.journal.check();
			await pause(pollMs);
		}
	}

	async close(): Promise<void> {
		// A task may switch a device on again, which would keep this process running.
		await this.settle();
		await Promise.all(this.places.map(({ device }) => device.powerOff()));
		for (const { line } of this.places) line.close();
		for (const monitor of this.monitors) monitor.close();
		await this.gateway.kill();
	}
}
