/** Virtual device for a run: the firmware itself, in XS. */

import { Flash } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes } from "../../hosts/virtual/node/boot/partitions.js";
import type { Program } from "../../hosts/virtual/node/build.js";
import { describeExit } from "../../hosts/virtual/node/exit.js";
import { type Started, VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import type { FaultyLink } from "../support/faulty-link.js";
import { deviceToken } from "../support/gateway-settings.js";
import type { TormentDevice } from "./device.js";
import { firstVersion } from "./images.js";
import type { Journal } from "./journal.js";
import type { DeviceRecord } from "./ledger.js";

export interface VirtualTormentDeviceOptions {
	readonly record: DeviceRecord;
	readonly line: FaultyLink;
	readonly program: Program;
	readonly journal: Journal;
}

/** Time without progress after which an update has ended: the firmware reports progress four times a second. */
const silentMs = 10_000;

export class VirtualTormentDevice implements TormentDevice {
	readonly record: DeviceRecord;
	isQuiet = false;
	/** Not counted: the firmware decides. */
	silences = 0;
	readonly #options: VirtualTormentDeviceOptions;
	/** Survives a power-off. */
	readonly #flash = new Flash({ byteLength: flashBytes });
	#isOn = false;
	#device: VirtualDevice | undefined;
	#started: Started | undefined;
	/** Serializes power switching. */
	#turn: Promise<void> = Promise.resolve();

	constructor(options: VirtualTormentDeviceOptions) {
		this.#options = options;
		this.record = options.record;
	}

	get isOn(): boolean {
		return this.#isOn;
	}

	get isIdle(): boolean {
		const isSilent = performance.now() - this.record.updateHeardAt > silentMs;
		return this.#device !== undefined && !this.#device.isPendingVerify && isSilent;
	}

	powerOn(): void {
		this.#isOn = true;
		void this.#then(async () => {
			const { record, line, program, journal } = this.#options;
			if (this.#device) return;
			this.#device = await VirtualDevice.start({
				model: record.model,
				serial: record.deviceId.slice(-6),
				settings: { gateway: `ws://127.0.0.1:${line.port}/device`, token: deviceToken },
				flash: this.#flash,
				program,
				version: firstVersion,
				onBoot: (started) => this.#onBoot(started),
				onExit: (exit) => journal.break(`the firmware of ${record.deviceId} exited: ${describeExit(exit)}`),
			});
		});
	}

	powerOff(): Promise<void> {
		this.#isOn = false;
		return this.#then(async () => {
			const device = this.#device;
			this.#device = undefined;
			await device?.close();
		});
	}

	/** Unused: the firmware decides what it sends. */
	report(): void {}

	connectAgain(): void {}

	#then(task: () => Promise<void>): Promise<void> {
		const { record, journal } = this.#options;
		this.#turn = this.#turn
			.then(task)
			.catch((error: unknown) => journal.break(`${record.deviceId} failed to switch: ${error}`));
		return this.#turn;
	}

	#onBoot(started: Started): void {
		const { record } = this.#options;
		const previous = this.#started;
		this.#started = started;
		record.isForgotten = false;
		if (previous?.isPendingVerify && previous.version !== started.version)
			record.rolledBack.add(previous.version);
		record.boot(started.version);
	}
}
