/** Board on a USB port: wraps esptool-js with specific errors and the final reset that esptool-js lacks. */

import { ESPLoader, HardReset, Transport, UnexpectedChipIdError, UnexpectedChipMagicError } from "esptool-js";
import { messageOf } from "../../../../device/message-of.js";
import { InstallError } from "./errors.js";

/** Default of esptool for a USB-to-UART bridge; the native USB port ignores it. */
const bitsPerSecond = 460_800;
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
	readonly #loader: ESPLoader;
	readonly #lost: Promise<never>;

	private constructor(loader: ESPLoader, macAddress: string, lost: Promise<never>) {
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
			return new Board(loader, macAddress, lost);
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
		try {
			await Promise.race([writing, this.#lost]);
		} catch (error) {
			throw asInstallError(error, "write_failed");
		}
	}

	/** Starts the firmware, except on the chip's own USB port after the BOOT button was used. */
	async restart(): Promise<void> {
		// The port may disappear while the board restarts.
		await this.#loader.after("hard_reset").catch(() => {});
	}

	/** Frees the port for other programs. */
	close(): Promise<void> {
		return close(this.#loader.transport);
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
