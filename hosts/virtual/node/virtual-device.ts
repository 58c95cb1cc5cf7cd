/**
 * A virtual device: the firmware in a real XS machine, and the simulated board. It starts the image that the boot loader selects,
 * and restarts as a board does. If a confirmed firmware ends by an exception or a full heap, onExit is called instead, unless it is
 * to restart then too.
 */

import { readFileSync } from "node:fs";
import type { Model } from "../../../device/protocol/schema.js";
import { type AccessPoint, Board } from "./board.js";
import { type Boot, boot } from "./boot/boot-loader.js";
import { EspOta } from "./boot/esp-ota.js";
import {
	type BuiltIn,
	engineVersion,
	flashFactoryImage,
	flashSettings,
	makeVirtualImage,
} from "./boot/factory-flash.js";
import { Flash, PowerCut } from "./boot/flash.js";
import { NvsStore } from "./boot/nvs-store.js";
import { imageState } from "./boot/ota-data.js";
import { flashBytes, type SlotIndex } from "./boot/partitions.js";
import { buildMachine, type Program } from "./build.js";
import type { Channel, ChannelHandler } from "./channel.js";
import { describeExit, type Exit, noPlace } from "./exit.js";
import { buildFirmware } from "./firmware.js";
import { deviceIdOf } from "./identity.js";
import { type Limits, Machine } from "./machine.js";
import { type EndedRun, RtcMemory } from "./rtc-memory.js";
import type { Hardware } from "./simulated/hardware.js";
import { openPeripheral } from "./simulated/open.js";
import { ReceiveBuffers } from "./simulated/receive-buffers.js";

export interface VirtualDeviceOptions {
	readonly model: Model;
	/** The last three bytes of the MAC, in hex: makes the device's id. */
	readonly serial: string;
	/**
	 * Flashed as by `npm run flash`, unless the same were given last time: `ssid` (default "virtual"), `password`, `gateway`,
	 * `token`, `ca` (DER in base64), `sntp`. An empty one is removed; others in the flash stay. Absent: the flash starts as it
	 * is, as another installer has written it.
	 */
	readonly settings?: Readonly<Record<string, string>>;
	/** Compiled into the firmware, as mcconfig's command line does. */
	readonly config?: Readonly<Record<string, string>>;
	/** Default: in memory. */
	readonly flashFile?: string;
	/** Closed by the caller. */
	readonly flash?: Flash;
	/** "virtual": only advance() lets time pass. */
	readonly clock?: "real" | "virtual";
	readonly limits?: Partial<Limits>;
	/** Processor time that a turn may take. */
	readonly watchdogMs?: number;
	readonly seed?: number;
	/** Default: "virtual", which accepts every password; undefined: none. */
	readonly accessPoint?: AccessPoint | undefined;
	/** Instead of `accessPoint`, where there are several. */
	readonly accessPoints?: readonly AccessPoint[];
	/** Of the time server, milliseconds since 1970. Default: this computer's clock; undefined: no answer. */
	readonly wallClock?: (() => number) | undefined;
	/** Factory firmware. Default: of this checkout. */
	readonly program?: Program;
	/** Simulated parts of this device alone; undefined: the usual one. */
	readonly onOpen?: (channel: Channel, board: Board) => ChannelHandler | undefined;
	/** In place of the model's, such as `psramSizeMB`. */
	readonly facts?: Partial<Hardware["facts"]>;
	/** Default: this checkout's. */
	readonly version?: string;
	/** Seconds since 1970; 0: unknown. Default: the time of the newest source. */
	readonly buildTime?: number;
	/** Compiled into the factory firmware. */
	readonly builtIn?: BuiltIn;
	readonly onTrace?: (text: string) => void;
	/** At power-on and at each restart. */
	readonly onBoot?: (started: Started) => void;
	/** Whether it restarts after a crash; default: false, it stays off. */
	readonly restartsAfterCrash?: boolean;
	/** It has crashed and restarts. */
	readonly onCrash?: (exit: Exit) => void;
	/** The machine ended without a restart. Not called after close(). */
	readonly onExit?: (exit: Exit) => void;
}

export interface Started {
	readonly version: string;
	readonly securityVersion: number;
	/** Seconds since 1970; 0: unknown. */
	readonly buildTime: number;
	readonly slot: SlotIndex;
	readonly resetReason: string;
	/** Unconfirmed. */
	readonly isPendingVerify: boolean;
}

/** From a start to the next one. */
interface Run {
	readonly machine: Machine;
	readonly hardware: Hardware;
	readonly started: Started;
	/** As performance.now(). */
	readonly startedAt: number;
}

/** For others, and exceptions, SW_RESET. */
const resetReasons: Readonly<Partial<Record<Exit["kind"], string>>> = {
	watchdog: "TASK_WDT_RESET",
	panic: "PANIC_RESET",
	killed: "PANIC_RESET",
	bad_program: "PANIC_RESET",
};

export class VirtualDevice {
	readonly board = new Board();
	readonly flash: Flash;
	readonly #options: VirtualDeviceOptions;
	readonly #executable: string;
	#run: Run;
	#rtc = new RtcMemory();
	#isClosed = false;

	/** @throws Error if the machine or the firmware cannot be built, or main fails */
	static async start(options: VirtualDeviceOptions): Promise<VirtualDevice> {
		const isFlashed = options.settings !== undefined;
		const building = isFlashed ? (options.program ?? buildFirmware()) : undefined;
		const [executable, program] = await Promise.all([buildMachine(), building]);
		const device = new VirtualDevice(options, executable, program);
		await device.machine.ready;
		return device;
	}

	private constructor(options: VirtualDeviceOptions, executable: string, program: Program | undefined) {
		const { flashFile, model, settings, version = checkoutVersion } = options;
		this.#options = options;
		if ("wallClock" in options) this.board.wallClock = options.wallClock;
		if ("accessPoint" in options) this.board.accessPoint = options.accessPoint;
		if (options.accessPoints) this.board.accessPoints = options.accessPoints;
		this.#executable = executable;
		this.flash =
			options.flash ?? new Flash({ byteLength: flashBytes, ...(flashFile && { file: flashFile }) });
		if (program) {
			const { buildTime = program.changedAt, builtIn } = options;
			flashFactoryImage(this.flash, makeVirtualImage(program.bytes, model, version, buildTime, builtIn));
			flashSettings(this.flash, settings ?? {}, { ssid: "virtual" });
		}
		this.#run = this.#powerOn("POWERON_RESET");
	}

	get deviceId(): string {
		return deviceIdOf(this.#options.model, this.#options.serial);
	}

	/** Another one after each restart. */
	get machine(): Machine {
		return this.#run.machine;
	}

	get started(): Started {
		return this.#run.started;
	}

	/** What survives a restart; another one after a power cut. */
	get rtc(): RtcMemory {
		return this.#rtc;
	}

	/** Undefined if not set. */
	setting(name: string): string | undefined {
		return this.#run.hardware.nvs.read(name);
	}

	get isPendingVerify(): boolean {
		return this.#run.hardware.ota.state === imageState.pendingVerify;
	}

	async close(): Promise<void> {
		this.#isClosed = true;
		await this.machine.close();
		if (!this.#options.flash) this.flash.close();
	}

	async powerCycle(): Promise<void> {
		await this.machine.close();
		this.#rtc = new RtcMemory();
		if (!this.#isClosed) this.#restart("POWERON_RESET");
	}

	/** The supply voltage falls for a moment. */
	async brownOut(): Promise<void> {
		await this.machine.close();
		this.#rtc.onBrownOut(this.#endedRun);
		if (!this.#isClosed) this.#restart("BROWNOUT_RESET");
	}

	/** @throws Error if the flash has no bootable image */
	#powerOn(resetReason: string): Run {
		const { model, serial, config, clock, limits, seed, watchdogMs, onTrace, onBoot } = this.#options;
		const { slot, image } = this.#boot();
		const ota = new EspOta({ flash: this.flash, running: slot });
		const { version, securityVersion, buildTime, releaseKeys } = image;
		const isPendingVerify = ota.state === imageState.pendingVerify;
		const started = { version, securityVersion, buildTime, slot, resetReason, isPendingVerify };
		const hardware: Hardware = {
			board: this.board,
			flash: this.flash,
			ota,
			nvs: new NvsStore(this),
			rtc: this.#rtc,
			receiveBuffers: new ReceiveBuffers(),
			facts: {
				// 02: a locally administered address (IEEE 802, 8.4).
				macAddress: `02:00:00:${serial.match(/../g)?.join(":")}`,
				idfVersion: engineVersion,
				firmwareVersion: version,
				securityVersion,
				buildTime,
				cpuFrequencyMHz: 240,
				flashSizeMB: 16,
				psramSizeMB: 8,
				resetReason,
				...this.#options.facts,
			},
			onPowerCut: () => void this.powerCycle(),
		};
		onBoot?.(started);
		const machine = new Machine({
			executable: this.#executable,
			program: image.program,
			config: { ...config, ...(releaseKeys && { release_keys: releaseKeys }), model },
			clock,
			limits,
			seed,
			watchdogMs,
			onTrace: (text) => {
				this.#rtc.write(text);
				onTrace?.(text);
			},
			onOpen: (channel) => this.#options.onOpen?.(channel, this.board) ?? openPeripheral(channel, hardware),
			onExit: (exit) => this.#onExit(exit),
		});
		return { machine, hardware, started, startedAt: performance.now() };
	}

	/** Power can be cut in the boot loader too. */
	#boot(): Boot {
		for (;;) {
			this.flash.powerOn();
			try {
				return boot(this.flash);
			} catch (error) {
				if (!(error instanceof PowerCut)) throw error;
			}
		}
	}

	#restart(resetReason: string): void {
		try {
			this.#run = this.#powerOn(resetReason);
		} catch (error) {
			const message = error instanceof Error ? error.message : String(error);
			this.#options.onExit?.({ ...noPlace, kind: "bad_program", message, status: 14 });
		}
	}

	#onExit(exit: Exit): void {
		if (this.#isClosed) return;
		const { restartsAfterCrash = false } = this.#options;
		if (exit.kind !== "restart" && !this.isPendingVerify && !restartsAfterCrash)
			return this.#options.onExit?.(exit);
		this.#rtc.onEnd(exit, this.#endedRun);
		if (exit.kind !== "restart") this.#options.onCrash?.(exit);
		this.#options.onTrace?.(`${describeExit(exit)}; the device restarts\n`);
		this.#restart(resetReasons[exit.kind] ?? "SW_RESET");
	}

	get #endedRun(): EndedRun {
		const { machine, started, startedAt } = this.#run;
		const isVirtual = this.#options.clock === "virtual";
		const uptimeMs = isVirtual ? machine.now : performance.now() - startedAt;
		return { version: started.version, uptimeMs };
	}
}

const { version: checkoutVersion }: { version: string } = JSON.parse(
	readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
);
