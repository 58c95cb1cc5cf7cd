/**
 * A device as a process: the firmware in a real XS machine, and the board around it. It starts what the boot loader finds in
 * its flash, and restarts as a board does, with its flash, its settings and its board kept. A confirmed firmware that ends
 * otherwise (an exception, a full heap) is told to the owner: a board would restart for ever, and nobody would see why.
 */

import { readFileSync } from "node:fs";
import type { Model } from "../../../device/protocol/schema.js";
import { Board } from "./board.js";
import { boot } from "./boot/boot-loader.js";
import { engineVersion, flashByCable, makeVirtualImage } from "./boot/cable.js";
import { EspOta } from "./boot/esp-ota.js";
import { Flash, PowerCut } from "./boot/flash.js";
import { imageState } from "./boot/ota-data.js";
import { flashBytes, type SlotIndex } from "./boot/partitions.js";
import { programFile } from "./boot/program-file.js";
import { buildMachine, type Program } from "./build.js";
import { buildFirmware } from "./firmware.js";
import { deviceIdOf } from "./identity.js";
import {
	type Channel,
	type ChannelHandler,
	describeExit,
	type Exit,
	type Limits,
	Machine,
} from "./machine.js";
import { dns, time, websocket, wifi } from "./stand-ins/network.js";
import { audio, digital, haptics, light, pixels, smbus, touch } from "./stand-ins/peripherals.js";
import type { StandIn } from "./stand-ins/stand-in.js";
import { keyValue, resource, Settings } from "./stand-ins/storage.js";
import { tcp } from "./stand-ins/tcp.js";
import { bootState, sha256, updateSlot } from "./stand-ins/update.js";

export interface VirtualDeviceOptions {
	readonly model: Model;
	/** The last three bytes of the MAC, in hex: makes the device's id. */
	readonly serial: string;
	/** As `mcconfig`'s command line gives them. */
	readonly config: { readonly gateway: string; readonly token: string; readonly [name: string]: string };
	/** Where settings are kept; absent: in memory. */
	readonly settingsFile?: string;
	/** Where the flash is kept; absent: in memory. */
	readonly flashFile?: string;
	/** A flash that is there already; it stays the caller's. */
	readonly flash?: Flash;
	/** "virtual": time stands still unless advance moves it. */
	readonly clock?: "real" | "virtual";
	readonly limits?: Partial<Limits>;
	/** A turn may take so much processor time, in milliseconds. */
	readonly watchdogMs?: number;
	readonly seed?: number;
	/** What comes by cable. Default: the firmware of this checkout. */
	readonly program?: Program;
	/** Of what comes by cable. Default: this checkout's. */
	readonly version?: string;
	readonly onTrace?: (text: string) => void;
	/** The boot loader starts an image: at power-on and at each restart. */
	readonly onBoot?: (started: Started) => void;
	/** The machine ended otherwise than by a restart. Not called after close. */
	readonly onExit?: (exit: Exit) => void;
}

export interface Started {
	readonly version: string;
	readonly slot: SlotIndex;
	/** As on a board: why the chip starts. */
	readonly resetReason: string;
	/** Whether the image is started for the first time, and has to prove itself. */
	readonly isPendingVerify: boolean;
}

/** What a board's chip would say of such an end; an exception in XS restarts it by software. */
const resetReasons: Readonly<Partial<Record<Exit["kind"], string>>> = {
	watchdog: "TASK_WDT_RESET",
	killed: "PANIC_RESET",
	bad_program: "PANIC_RESET",
};

export class VirtualDevice {
	readonly board = new Board();
	/** What the firmware keeps in flash. */
	readonly settings: Settings;
	readonly flash: Flash;
	readonly #options: VirtualDeviceOptions;
	readonly #executable: string;
	readonly #standIns: Readonly<Record<string, StandIn>>;
	#machine: Machine;
	#ota: EspOta;
	#started: Started;
	#isClosed = false;

	/**
	 * Powers a device on.
	 *
	 * @throws Error where the machine or the firmware cannot be built, or the firmware's main fails
	 */
	static async start(options: VirtualDeviceOptions): Promise<VirtualDevice> {
		const [executable, program] = await Promise.all([buildMachine(), options.program ?? buildFirmware()]);
		const device = new VirtualDevice(options, executable, program);
		await device.#machine.ready;
		return device;
	}

	private constructor(options: VirtualDeviceOptions, executable: string, program: Program) {
		const { flashFile, model, version = checkoutVersion } = options;
		this.#options = options;
		this.#executable = executable;
		this.flash =
			options.flash ?? new Flash({ byteLength: flashBytes, ...(flashFile && { file: flashFile }) });
		flashByCable(this.flash, makeVirtualImage(program.bytes, model, version));
		this.settings = new Settings(options.settingsFile);
		const device = this;
		const flashOwner = {
			flash: this.flash,
			get ota() {
				return device.#ota;
			},
			onPowerCut: () => this.#onPowerCut(),
		};
		this.#standIns = {
			digital,
			light,
			touch,
			pixels,
			haptics,
			audio,
			smbus,
			wifi,
			dns,
			time,
			websocket,
			tcp,
			resource,
			sha256,
			"key-value": keyValue(this.settings),
			"update-slot": updateSlot(flashOwner),
			"boot-state": bootState(flashOwner),
			system: () => ({ onCall: () => ({ detail: this.#facts() }) }),
		};
		const { machine, ota, started } = this.#powerOn("POWERON_RESET");
		this.#machine = machine;
		this.#ota = ota;
		this.#started = started;
	}

	get deviceId(): string {
		return deviceIdOf(this.#options.model, this.#options.serial);
	}

	/** The machine that runs now; another one after a restart. */
	get machine(): Machine {
		return this.#machine;
	}

	/** What runs now. */
	get started(): Started {
		return this.#started;
	}

	/** Whether the running image is new and unconfirmed. */
	get isPendingVerify(): boolean {
		return this.#ota.state === imageState.pendingVerify;
	}

	/** Switches the device off, as pulling its plug would. */
	async close(): Promise<void> {
		this.#isClosed = true;
		await this.#machine.close();
		if (!this.#options.flash) this.flash.close();
	}

	/** Pulls the plug and puts it in again. */
	async powerCycle(): Promise<void> {
		await this.#machine.close();
		if (!this.#isClosed) this.#restart("POWERON_RESET");
	}

	/** @throws Error where the flash holds nothing that starts */
	#powerOn(resetReason: string) {
		const { config, model, clock, limits, seed, watchdogMs, onTrace, onBoot } = this.#options;
		const { slot, image } = this.#boot();
		const ota = new EspOta(this.flash, slot);
		const { version } = image;
		const started = { version, slot, resetReason, isPendingVerify: ota.state === imageState.pendingVerify };
		onBoot?.(started);
		const machine = new Machine({
			executable: this.#executable,
			program: programFile(image.program),
			config: { ssid: "virtual", ...config, model },
			...(clock && { clock }),
			...(limits && { limits }),
			...(seed !== undefined && { seed }),
			...(watchdogMs !== undefined && { watchdogMs }),
			...(onTrace && { onTrace }),
			onOpen: (channel) => this.#open(channel),
			onExit: (exit) => this.#onExit(exit),
		});
		return { machine, ota, started };
	}

	/** Power can go away in the boot loader too; it comes back. */
	#boot() {
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
			const { machine, ota, started } = this.#powerOn(resetReason);
			this.#machine = machine;
			this.#ota = ota;
			this.#started = started;
		} catch (error) {
			const message = error instanceof Error ? error.message : String(error);
			const nowhere = { status: 14, pool: undefined, file: undefined, line: undefined, stack: "" };
			this.#options.onExit?.({ kind: "bad_program", message, ...nowhere });
		}
	}

	#onPowerCut(): void {
		void this.powerCycle();
	}

	#open(channel: Channel): ChannelHandler {
		const standIn = this.#standIns[channel.kind];
		if (!standIn) throw new Error(`the virtual host has no stand-in for "${channel.kind}"`);
		return standIn(channel, { board: this.board, wallClock: Date.now });
	}

	#onExit(exit: Exit): void {
		if (this.#isClosed) return;
		if (exit.kind !== "restart" && !this.isPendingVerify) return this.#options.onExit?.(exit);
		this.#options.onTrace?.(`${describeExit(exit)}; the device restarts\n`);
		this.#restart(resetReasons[exit.kind] ?? "SW_RESET");
	}

	#facts() {
		const { serial } = this.#options;
		return {
			// 02: a locally administered address (IEEE 802, section 8.4), which no real device has.
			macAddress: `02:00:00:${serial.match(/../g)?.join(":")}`,
			idfVersion: engineVersion,
			firmwareVersion: this.#started.version,
			cpuFrequencyMHz: 240,
			flashSizeMB: 16,
			psramSizeMB: 8,
			resetReason: this.#started.resetReason,
		};
	}
}

const { version: checkoutVersion }: { version: string } = JSON.parse(
	readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
);
