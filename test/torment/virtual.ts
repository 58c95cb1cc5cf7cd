/** A virtual device for a run: the firmware itself, in XS. */

import { Flash } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes } from "../../hosts/virtual/node/boot/partitions.js";
import type { Program } from "../../hosts/virtual/node/build.js";
import { describeExit } from "../../hosts/virtual/node/exit.js";
import { type Started, VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { deviceToken } from "../support/gateway-settings.js";
import type { Line } from "../support/line.js";
import type { Tormented } from "./device.js";
import { firstVersion } from "./images.js";
import type { Journal } from "./journal.js";
import type { DeviceTruth } from "./ledger.js";

export interface TormentedVirtualDeviceOptions {
	readonly truth: DeviceTruth;
	readonly line: Line;
	readonly program: Program;
	readonly journal: Journal;
}

/** An update without progress for this time has ended: the firmware reports progress four times a second. */
const silentMs = 10_000;

export class TormentedVirtualDevice implements Tormented {
	readonly truth: DeviceTruth;
	isQuiet = false;
	/** Not counted: the firmware decides. */
	silences = 0;
	readonly #options: TormentedVirtualDeviceOptions;
	/** Survives being switched off. */
	readonly #flash = new Flash({ byteLength: flashBytes });
	#isOn = false;
	#device: VirtualDevice | undefined;
	#started: Started | undefined;
	/** Power is switched in order. */
	#turn: Promise<void> = Promise.resolve();

	constructor(options: TormentedVirtualDeviceOptions) {
		this.#options = options;
		this.truth = options.truth;
	}

	get isOn(): boolean {
		return this.#isOn;
	}

	get isIdle(): boolean {
		const isSilent = performance.now() - this.truth.updateHeardAt > silentMs;
		return this.#device !== undefined && !this.#device.isPendingVerify && isSilent;
	}

	powerOn(): void {
		this.#isOn = true;
		void this.#then(async () => {
			const { truth, line, program, journal } = this.#options;
			if (this.#device) return;
			this.#device = await VirtualDevice.start({
				model: truth.model,
				serial: truth.deviceId.slice(-6),
				settings: { gateway: `ws://127.0.0.1:${line.port}/device`, token: deviceToken },
				flash: this.#flash,
				program,
				version: firstVersion,
				onBoot: (started) => this.#onBoot(started),
				onExit: (exit) => journal.break(`the firmware of ${truth.deviceId} ended: ${describeExit(exit)}`),
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

	/** The firmware decides what it sends. */
	say(): void {}

	report(): void {}

	connectAgain(): void {}

	#then(task: () => Promise<void>): Promise<void> {
		const { truth, journal } = this.#options;
		this.#turn = this.#turn
			.then(task)
			.catch((error: unknown) => journal.break(`${truth.deviceId} could not be switched: ${error}`));
		return this.#turn;
	}

	#onBoot(started: Started): void {
		const { truth } = this.#options;
		const previous = this.#started;
		this.#started = started;
		truth.isForgotten = false;
		if (previous?.isPendingVerify && previous.version !== started.version)
			truth.rolledBack.add(previous.version);
		truth.boot(started.version);
	}
}
