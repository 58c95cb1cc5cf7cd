/**
 * Simulated board on a USB port for a page in Chromium: reset lines, serial loader, and a virtual device that boots from the flash
 * written by the loader.
 */

import { EventEmitter, once } from "node:events";
import { Flash } from "../../../hosts/virtual/node/boot/flash.js";
import { flashBytes } from "../../../hosts/virtual/node/boot/partitions.js";
import {
	type Started,
	VirtualDevice,
	type VirtualDeviceOptions,
} from "../../../hosts/virtual/node/virtual-device.js";
import { RomLoader } from "./rom-loader.js";

/** Chip id as in an image header. */
const chipIds = Object.freeze({ "ESP32-S3": 9, "ESP32-C6": 13, "not known yet": 99 });

/** Baud rate of the firmware log. */
const consoleRate = 115_200;

export interface UsbBoardOptions {
	/** Last three bytes of the MAC address, in hex. */
	readonly serial: string;
	readonly model?: VirtualDeviceOptions["model"];
	readonly accessPoints?: NonNullable<VirtualDeviceOptions["accessPoints"]>;
	/** Default: ESP32-S3. */
	readonly chip?: keyof typeof chipIds;
	/** Whether the port is the chip's own USB, without a converter. Default: false. */
	readonly isNative?: boolean;
	/** Whether the reset lines are unconnected: only the buttons reset the board. */
	readonly hasNoResetLines?: boolean;
}

/** Result of a write, for the page. */
export interface WriteResult {
	readonly reply: readonly number[];
	readonly isLost: boolean;
}

export class UsbBoard {
	/** Faults to simulate; tests may change them. */
	readonly faults: {
		/** Port opened by another program. */
		isBusy?: boolean;
		/** Number of written blocks after which the board is unplugged. */
		lostAfterBlocks?: number;
	} = {};
	readonly #events = new EventEmitter();
	readonly flash = new Flash({
		byteLength: flashBytes,
		onOperation: () => this.#events.emit("operation"),
	});
	readonly #options: UsbBoardOptions;
	#device: VirtualDevice | undefined;
	#loader: RomLoader | undefined;
	#isOpen = false;
	/** Firmware output not read yet. */
	#output: number[] = [];
	#isBootHeld = false;
	/** Baud rates of the open port and of the loader. */
	#rates = { port: 0, loader: 115_200 };
	#lines = { dtr: false, rts: false };
	/** Whether DTR on the chip's own USB has requested download mode for the next reset. */
	#isDownloadAsked = false;

	constructor(options: UsbBoardOptions) {
		this.#options = options;
	}

	/** Undefined while no firmware runs. */
	get startedFrom(): Started | undefined {
		return this.#device?.started;
	}

	get isFlashEmpty(): boolean {
		return this.flash.read(0, flashBytes).every((byte) => byte === 0xff);
	}

	/** Resolves with the next flash write of the firmware. */
	async written(): Promise<void> {
		await once(this.#events, "operation");
	}

	get usbIds() {
		return this.#options.isNative
			? { usbVendorId: 0x303a, usbProductId: 0x1001 }
			: { usbVendorId: 0x10c4, usbProductId: 0xea60 };
	}

	/** @returns why the port cannot be opened; empty if it was opened */
	open(bitsPerSecond: number): string {
		if (this.faults.isBusy) return "Failed to open serial port.";
		this.#isOpen = true;
		this.#rates.port = bitsPerSecond;
		return "";
	}

	closePort(): void {
		this.#isOpen = false;
		this.#output = [];
		this.#events.emit("output");
	}

	/** @returns what the firmware prints next; undefined when the port is closed */
	async read(): Promise<readonly number[] | undefined> {
		while (this.#isOpen && this.#output.length === 0) await once(this.#events, "output");
		return this.#isOpen ? this.#output.splice(0) : undefined;
	}

	async write(bytes: Uint8Array): Promise<WriteResult> {
		if (this.#isOpen && !this.#loader && this.#rates.port === consoleRate)
			this.#device?.board.sendSerial(bytes);
		const isHeard = this.#isOpen && this.#rates.port === this.#rates.loader;
		const reply = isHeard ? this.#loader?.write(bytes) : undefined;
		const { lostAfterBlocks = Number.POSITIVE_INFINITY } = this.faults;
		if ((this.#loader?.blocks ?? 0) >= lostAfterBlocks) {
			delete this.faults.lostAfterBlocks;
			this.#isOpen = false;
			await this.powerOff();
			return { reply: [], isLost: true };
		}
		return { reply: [...(reply ?? [])], isLost: false };
	}

	async setLines(lines: { readonly dtr?: boolean; readonly rts?: boolean }): Promise<void> {
		const before = this.#lines;
		this.#lines = { ...before, ...lines };
		if (this.#options.hasNoResetLines) return;
		if (this.#lines.dtr && !this.#lines.rts) this.#isDownloadAsked = true;
		if (before.rts && !this.#lines.rts) {
			const isDownload = this.#options.isNative ? this.#isDownloadAsked : this.#lines.dtr;
			this.#isDownloadAsked = false;
			// A reset over the chip's own USB keeps the boot mode selected by BOOT.
			await this.#reset(isDownload || (this.#options.isNative === true && this.#isBootHeld));
		}
	}

	/** Presses reset while holding BOOT. */
	async pressBootAndReset(): Promise<void> {
		this.#isBootHeld = true;
		await this.#reset(true);
	}

	async pressReset(): Promise<void> {
		this.#isBootHeld = false;
		await this.#reset(false);
	}

	async powerOff(): Promise<void> {
		this.#loader = undefined;
		const device = this.#device;
		this.#device = undefined;
		await device?.close();
	}

	async #reset(isDownload: boolean): Promise<void> {
		await this.powerOff();
		if (isDownload) this.#startLoader();
		else await this.#startFirmware();
	}

	#startLoader(): void {
		const { chip = "ESP32-S3", serial } = this.#options;
		this.#rates.loader = 115_200;
		this.#loader = new RomLoader({
			flash: this.flash,
			mac: Buffer.from(`020000${serial}`, "hex"),
			chipId: chipIds[chip],
			onBaudRate: (bitsPerSecond) => {
				this.#rates.loader = bitsPerSecond;
			},
		});
	}

	#print(bytes: Uint8Array): void {
		if (!this.#isOpen) return;
		this.#output.push(...bytes);
		this.#events.emit("output");
	}

	async #startFirmware(): Promise<void> {
		const { model = "DEV-1", serial, accessPoints } = this.#options;
		this.flash.powerOn();
		try {
			this.#device = await VirtualDevice.start({
				model,
				serial,
				flash: this.flash,
				...(accessPoints && { accessPoints }),
				onTrace: (text) => this.#print(Buffer.from(text)),
			});
			this.#device.board.listen({ onSerialOutput: (bytes) => this.#print(bytes) });
		} catch (error) {
			// A board without firmware restarts endlessly.
			if (!(error instanceof Error && error.message.startsWith("no bootable image"))) throw error;
		}
	}
}
