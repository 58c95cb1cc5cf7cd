/** The app slot that does not run, by ESP-IDF's update functions (`esp_ota_begin` and so on) and the SDK's modules over them. */

import Flash, { type Flash as Partition } from "embedded:storage/flash";
import Update, { type Updater } from "embedded:update";
import type { UpdateSlot as Interface } from "../../device/host.js";

export class UpdateSlot implements Interface {
	#partition: Partition | undefined;
	#update: Updater | undefined;

	get byteLength(): number {
		return this.#open().status().size;
	}

	/** Mode "a": erased sector by sector while it is written, so that no turn lasts longer than a block does. */
	open(): void {
		this.#abandon();
		this.#update = Update.open({ partition: this.#open(), mode: "a" });
	}

	write(bytes: Uint8Array): void {
		if (!this.#update) throw new Error("the slot is not open");
		this.#update.write(bytes);
	}

	read(buffer: Uint8Array, offset: number): void {
		this.#open().read(buffer, offset);
	}

	/** ESP-IDF verifies the image twice, in this turn. */
	complete(): void {
		if (!this.#update) throw new Error("the slot is not open");
		this.#update.complete();
		this.close();
	}

	close(): void {
		this.#abandon();
		this.#partition?.close();
		this.#partition = undefined;
	}

	#abandon(): void {
		this.#update?.close();
		this.#update = undefined;
	}

	#open(): Partition {
		this.#partition ??= Flash.open({ path: "nextota" });
		return this.#partition;
	}
}
