/** Board on a USB port: wraps esptool-js with specific errors and the final reset that esptool-js lacks. */

import {
	ESPLoader,
	ESPRESSIF_VID,
	HardReset,
	Transport,
	UnexpectedChipIdError,
	UnexpectedChipMagicError,
} from "esptool-js";
import { messageOf } from "../../../../device/message-of.js";
import { InstallError } from "./errors.js";

/** Default of esptool for a USB-to-UART bridge; the native USB port ignores it. */
const bitsPerSecond = 460_800;
/** Strapping register of the ESP32-S3; bit 3 is GPIO0, the BOOT button. */
const strapRegister = 0x6000_4038;
const gpio0 = 0x8;
const closeMs = 2_000;

export interface FlashFile {
	/** Offset in flash, in bytes. */
	readonly address: number;
	readonly data: Uint8Array;
}

export class Board {
	/** Chip name of ESP Web Tools, such as "ESP32-S3". */
	readonly chipFamily: string;
	/** For example 02:00:00:a1:b2:c3. */
	readonly macAddress: string;
	readonly #port: SerialPort;
	readonly #loader: ESPLoader;
	readonly #lost: Promise<never>;

	private constructor(port: SerialPort, loader: ESPLoader, macAddress: string, lost: Promise<never>) {
		this.#port = port;
		this.#loader = loader;
		this.#lost = lost;
		this.macAddress = macAddress;
		this.chipFamily = loader.chip.CHIP_NAME;
	}

	/** Starts the flasher stub. @throws InstallError */
	static async connect(port: SerialPort): Promise<Board> {
		const lost = new Promise<never>((_resolve, reject) => {
			port.addEventListener("disconnect", () => reject(new InstallError("lost")), { once: true });
		});
		lost.catch(() => {});
		const transport = new BoardTransport(port);
		const loader = new ESPLoader({
			transport,
			baudrate: bitsPerSecond,
			terminal: silent,
			resetConstructors: { hardReset: (serial) => new WholeReset(serial) },
		});
		try {
			await Promise.race([loader.main(), lost]);
			const macAddress = await Promise.race([loader.chip.readMac(loader), lost]);
			return new Board(port, loader, macAddress, lost);
		} catch (error) {
			await close(transport);
			throw asInstallError(error, "no_answer");
		}
	}

	/** @param onProgress 0 to 1 @throws InstallError */
	async write(files: readonly FlashFile[], onProgress: (part: number) => void): Promise<void> {
		const sizeOf = (some: readonly FlashFile[]) => some.reduce((sum, { data }) => sum + data.byteLength, 0);
		const writing = this.#loader.writeFlash({
			fileArray: [...files],
			flashMode: "keep",
			flashFreq: "keep",
			flashSize: "keep",
			eraseAll: false,
			compress: true,
			reportProgress: (index, written, ofFile) => {
				const size = sizeOf(files.slice(index, index + 1));
				onProgress((sizeOf(files.slice(0, index)) + (written / ofFile) * size) / sizeOf(files));
			},
		});
		await this.#do(writing);
	}

	/**
	 * Starts the firmware.
	 * @returns false if the BOOT button selected download mode: a reset over native USB then enters it again, and only the reset button
	 * starts the firmware
	 */
	async restart(): Promise<boolean> {
		const needsResetButton = await this.#needsResetButton().catch(() => false);
		// The port may disappear while the board restarts.
		await this.#loader.after("hard_reset").catch(() => {});
		return !needsResetButton;
	}

	/** Frees the port for other programs. */
	close(): Promise<void> {
		return close(this.#loader.transport);
	}

	async #needsResetButton(): Promise<boolean> {
		// Native USB port of the chip.
		const isNative = this.#port.getInfo().usbVendorId === ESPRESSIF_VID;
		if (!isNative || this.#loader.chip.CHIP_NAME !== "ESP32-S3") return false;
		return ((await this.#do(this.#loader.readReg(strapRegister))) & gpio0) === 0;
	}

	async #do<T>(work: Promise<T>): Promise<T> {
		try {
			return await Promise.race([work, this.#lost]);
		} catch (error) {
			throw asInstallError(error, "write_failed");
		}
	}
}

/** Distinguishes a port that cannot be opened from a board that does not answer. */
class BoardTransport extends Transport {
	override async connect(...options: Parameters<Transport["connect"]>): Promise<void> {
		try {
			await super.connect(...options);
		} catch (error) {
			throw new InstallError("port_busy", undefined, { cause: error });
		}
	}
}

/** Reset that pulls EN low, then high, with GPIO0 high. The one of esptool-js only sets EN high. */
class WholeReset extends HardReset {
	override async reset(): Promise<void> {
		await this.transport.setDTR(false);
		await this.transport.setRTS(true);
		await new Promise((resolve) => setTimeout(resolve, 200));
		await this.transport.setRTS(false);
	}
}

const silent = { clean() {}, write() {}, writeLine() {} };

/** Disconnects with a timeout, since esptool-js waits forever for a closed stream. */
async function close(transport: Transport): Promise<void> {
	const timeout = new Promise((resolve) => setTimeout(resolve, closeMs));
	await Promise.race([transport.disconnect().catch(() => {}), timeout]);
}

function asInstallError(error: unknown, otherwise: "no_answer" | "write_failed"): InstallError {
	if (error instanceof InstallError) return error;
	if (error instanceof UnexpectedChipIdError || error instanceof UnexpectedChipMagicError)
		return new InstallError("wrong_chip");
	const code = /has been lost/.test(messageOf(error)) ? "lost" : otherwise;
	return new InstallError(code, undefined, { cause: error });
}
