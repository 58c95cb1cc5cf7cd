/**
 * Virtual device: the firmware in an XS machine, and the simulated board. It starts the image selected by the boot loader and restarts
 * like a board. When confirmed firmware crashes, it calls onExit and stays off, unless `restartsAfterCrash` is set.
 */

import { readFileSync } from "node:fs";
import { messageOf } from "../../../device/message-of.js";
import { idOf } from "../../../device/protocol/models.js";
import type { Model } from "../../../device/protocol/schema.js";
import { type AccessPoint, Board } from "./board.js";
import { type Boot, boot } from "./boot/boot-loader.js";
import { type BuiltIn, flashFactoryImage, flashSettings, makeVirtualImage } from "./boot/factory-flash.js";
import { Flash, PowerCut } from "./boot/flash.js";
import { NvsStore } from "./boot/nvs-store.js";
import { Ota } from "./boot/ota.js";
import { flashBytes, type SlotIndex } from "./boot/partitions.js";
import { buildMachine, type Program } from "./build.js";
import type { Channel, ChannelHandler } from "./channel.js";
import { describeExit, type Exit, noLocation } from "./exit.js";
import { buildFirmware } from "./firmware.js";
import { macAddressOf } from "./identity.js";
import { type Limits, Machine } from "./machine.js";
import { type EndedRun, RtcMemory } from "./rtc-memory.js";
import type { Hardware } from "./simulated/hardware.js";
import { openPeripheral } from "./simulated/open.js";
import { findXs } from "./xs.js";

export interface VirtualDeviceOptions {
	readonly model: Model;
	/** Last three bytes of the MAC address in hexadecimal, part of the device id. */
	readonly serial: string;
	/**
	 * Settings to flash, like `npm run flash`, unless they equal the last ones: `ssid` (default "virtual"), `password`, `gateway`,
	 * `token`, `ca` (DER in base64), `sntp`. An empty setting is removed; other settings in the flash are kept. If absent, the device starts
	 * with the flash as another installer has written it.
	 */
	readonly settings?: Readonly<Record<string, string>>;
	/** Compiled-in settings, like those on mcconfig's command line. */
	readonly config?: Readonly<Record<string, string>>;
	/** Flash file. Default: in memory. */
	readonly flashFile?: string;
	/** Flash, closed by the caller. */
	readonly flash?: Flash;
	/** "virtual": only advance() advances time. */
	readonly clock?: "real" | "virtual";
	/** Default: those of findXs(). */
	readonly limits?: Partial<Limits>;
	/** Limit of processor time per turn. */
	readonly watchdogMs?: number;
	readonly seed?: number;
	/** Access points in range. Default: "virtual", which accepts any password. */
	readonly accessPoints?: readonly AccessPoint[];
	/** Clock of the time server in milliseconds since 1970. Default: this computer's clock. Undefined if it does not answer. */
	readonly wallClock?: (() => number) | undefined;
	/** Factory firmware. Default: built from this checkout. */
	readonly program?: Program;
	/** Overrides handlers of channels; returns undefined for the default handler. */
	readonly onOpen?: (channel: Channel, board: Board) => ChannelHandler | undefined;
	/** Overrides of system information, such as `psramSizeMB`. */
	readonly facts?: Partial<Hardware["facts"]>;
	/** Firmware version. Default: that of this checkout. */
	readonly version?: string;
	/** Seconds since 1970; 0 if unknown. Default: modification time of the newest source. */
	readonly buildTime?: number;
	/** Data compiled into the factory firmware. */
	readonly builtIn?: BuiltIn;
	readonly onTrace?: (text: string) => void;
	/** Called at power-on and at each restart. */
	readonly onBoot?: (started: Started) => void;
	/** Whether the device restarts after a crash. Default: false; it stays off. */
	readonly restartsAfterCrash?: boolean;
	/** Called when the device has crashed and restarts. */
	readonly onCrash?: (exit: Exit) => void;
	/** Called when the machine has ended without a restart. Not called after close(). */
	readonly onExit?: (exit: Exit) => void;
}

export interface Started {
	readonly version: string;
	readonly securityVersion: number;
	/** Seconds since 1970; 0 if unknown. */
	readonly buildTime: number;
	readonly slot: SlotIndex;
	readonly resetReason: string;
	/** Whether the image is unconfirmed. */
	readonly isPendingVerify: boolean;
}

/** Run of the firmware, from start to restart. */
interface Run {
	readonly machine: Machine;
	readonly hardware: Hardware;
	readonly started: Started;
	/** Start time, by performance.now(). */
	readonly startedAt: number;
}

/** Reset reason by exit kind; SW_RESET for other kinds. */
const resetReasons: Readonly<Partial<Record<Exit["kind"], string>>> = {
	watchdog: "TASK_WDT_RESET",
	panic: "PANIC_RESET",
	killed: "PANIC_RESET",
	bad_program: "PANIC_RESET",
};

let machineBuild: Promise<string> | undefined;

/** Builds the executable once per process. */
function builtMachine(): Promise<string> {
	machineBuild ??= buildMachine();
	machineBuild.catch(() => {
		machineBuild = undefined;
	});
	return machineBuild;
}

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
		const [executable, program] = await Promise.all([builtMachine(), building]);
		const device = new VirtualDevice(options, executable, program);
		await device.machine.ready;
		return device;
	}

	private constructor(options: VirtualDeviceOptions, executable: string, program: Program | undefined) {
		const { flashFile, model, settings, version = checkoutVersion } = options;
		this.#options = options;
		if ("wallClock" in options) this.board.wallClock = options.wallClock;
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
		return idOf(this.#options.model, macAddressOf(this.#options.serial));
	}

	/** Current machine; replaced at each restart. */
	get machine(): Machine {
		return this.#run.machine;
	}

	get started(): Started {
		return this.#run.started;
	}

	/** Memory that survives a restart; replaced after a power cut. */
	get rtc(): RtcMemory {
		return this.#rtc;
	}

	/** @returns undefined if not set */
	setting(name: string): string | undefined {
		return this.#run.hardware.nvs.read(name);
	}

	get isPendingVerify(): boolean {
		return this.#run.hardware.ota.isPendingVerify;
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

	/** Simulates a brown-out. */
	async brownOut(): Promise<void> {
		await this.machine.close();
		this.#rtc.onBrownOut(this.#endedRun);
		if (!this.#isClosed) this.#restart("BROWNOUT_RESET");
	}

	/** @throws Error if the flash has no bootable image */
	#powerOn(resetReason: string): Run {
		const { model, serial, config, clock, limits, seed, watchdogMs, onTrace, onBoot } = this.#options;
		const { slot, image } = this.#boot();
		const ota = new Ota({ flash: this.flash, running: slot });
		const { version, securityVersion, imageId, buildTime, releaseKeys } = image;
		const { isPendingVerify } = ota;
		const xs = findXs();
		const started = { version, securityVersion, buildTime, slot, resetReason, isPendingVerify };
		const hardware: Hardware = {
			board: this.board,
			flash: this.flash,
			ota,
			nvs: new NvsStore(this),
			rtc: this.#rtc,
			facts: {
				macAddress: macAddressOf(serial),
				idfVersion: `${xs.version} (virtual)`,
				firmwareVersion: version,
				securityVersion,
				imageId,
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
			limits: { ...xs.limits, ...limits },
			seed,
			watchdogMs,
			onTrace: (text) => {
				this.#rtc.trace.write(text);
				onTrace?.(text);
			},
			onOpen: (channel) => this.#options.onOpen?.(channel, this.board) ?? openPeripheral(channel, hardware),
			onExit: (exit) => this.#onExit(exit),
		});
		return { machine, hardware, started, startedAt: performance.now() };
	}

	/** Boots, again after each power cut in the boot loader. */
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
			const message = messageOf(error);
			this.#options.onExit?.({ ...noLocation, kind: "bad_program", message, status: 14 });
		}
	}

	#onExit(exit: Exit): void {
		if (this.#isClosed) return;
		const { restartsAfterCrash = false } = this.#options;
		if (exit.kind !== "restart" && !this.isPendingVerify && !restartsAfterCrash)
			return this.#options.onExit?.(exit);
		this.#rtc.onEnd(exit, this.#endedRun);
		if (exit.kind !== "restart") this.#options.onCrash?.(exit);
		this.#options.onTrace?.(`${describeExit(exit)}; restarting\n`);
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
