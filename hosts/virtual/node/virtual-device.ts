/**
 * A device as a process: the firmware in a real XS machine, and the board around it. It restarts as a board does, with its
 * settings and its board kept; what ends a machine otherwise (an exception, a full heap) is told to the owner.
 */

import { readFileSync } from "node:fs";
import type { Model } from "../../../device/protocol/schema.js";
import { Board } from "./board.js";
import { buildMachine, type Program } from "./build.js";
import { buildFirmware } from "./firmware.js";
import { type Channel, type ChannelHandler, type Exit, type Limits, Machine } from "./machine.js";
import { dns, time, websocket, wifi } from "./stand-ins/network.js";
import { audio, digital, haptics, light, pixels, smbus, touch } from "./stand-ins/peripherals.js";
import type { StandIn } from "./stand-ins/stand-in.js";
import { keyValue, resource, Settings } from "./stand-ins/storage.js";

export interface VirtualDeviceOptions {
	readonly model: Model;
	/** The last three bytes of the MAC, in hex: makes the device's id. */
	readonly serial: string;
	/** As `mcconfig`'s command line gives them. */
	readonly config: { readonly gateway: string; readonly token: string; readonly [name: string]: string };
	/** Where settings are kept; absent: in memory. */
	readonly settingsFile?: string;
	/** "virtual": time stands still unless advance moves it. */
	readonly clock?: "real" | "virtual";
	readonly limits?: Partial<Limits>;
	readonly seed?: number;
	/** Default: the firmware of this checkout. */
	readonly program?: Program;
	readonly onTrace?: (text: string) => void;
	/** The machine ended otherwise than by a restart. Not called after close. */
	readonly onExit?: (exit: Exit) => void;
}

export class VirtualDevice {
	readonly board = new Board();
	/** What the firmware keeps in flash. */
	readonly settings: Settings;
	readonly #options: VirtualDeviceOptions;
	readonly #executable: string;
	readonly #program: Program;
	readonly #standIns: Readonly<Record<string, StandIn>>;
	#machine: Machine;
	#resetReason = "POWERON_RESET";
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
		this.#options = options;
		this.#executable = executable;
		this.#program = program;
		this.settings = new Settings(options.settingsFile);
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
			resource,
			"key-value": keyValue(this.settings),
			system: () => ({ onCall: () => ({ detail: this.#facts() }) }),
		};
		this.#machine = this.#powerOn();
	}

	get deviceId(): string {
		return `${this.#options.model.toLowerCase()}-${this.#options.serial}`;
	}

	/** The machine that runs now; another one after a restart. */
	get machine(): Machine {
		return this.#machine;
	}

	/** Switches the device off, as pulling its plug would. */
	async close(): Promise<void> {
		this.#isClosed = true;
		await this.#machine.close();
	}

	#powerOn(): Machine {
		const { config, model, clock, limits, seed, onTrace } = this.#options;
		return new Machine({
			executable: this.#executable,
			program: this.#program.path,
			config: { ssid: "virtual", ...config, model },
			...(clock && { clock }),
			...(limits && { limits }),
			...(seed !== undefined && { seed }),
			...(onTrace && { onTrace }),
			onOpen: (channel) => this.#open(channel),
			onExit: (exit) => this.#onExit(exit),
		});
	}

	#open(channel: Channel): ChannelHandler {
		const standIn = this.#standIns[channel.kind];
		if (!standIn) throw new Error(`the virtual host has no stand-in for "${channel.kind}"`);
		return standIn(channel, { board: this.board, wallClock: Date.now });
	}

	#onExit(exit: Exit): void {
		if (this.#isClosed) return;
		if (exit.kind !== "restart") return this.#options.onExit?.(exit);
		this.#resetReason = "SW_RESET";
		this.#machine = this.#powerOn();
	}

	#facts() {
		const { serial } = this.#options;
		return {
			// 02: a locally administered address (IEEE 802, section 8.4), which no real device has.
			macAddress: `02:00:00:${serial.match(/../g)?.join(":")}`,
			idfVersion: "XS 13.3 (virtual)",
			firmwareVersion,
			cpuFrequencyMHz: 240,
			flashSizeMB: 16,
			psramSizeMB: 8,
			resetReason: this.#resetReason,
		};
	}
}

const { version: firmwareVersion }: { version: string } = JSON.parse(
	readFileSync(new URL("../../../package.json", import.meta.url), "utf8"),
);
