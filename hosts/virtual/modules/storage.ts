/** Data that a board has in flash and RTC memory, stored by Node. */

import type {
	CrashMemory as CrashInterface,
	KeyValueStore as Interface,
	TraceMemory as TraceInterface,
} from "../../../device/host.js";
import Channel from "./channel.js";

/** ECMA-419 `embedded:storage/key-value` on the NVS of the virtual flash. */
export class KeyValueStore implements Interface {
	readonly #channel = new Channel("key-value", {}, {});

	read(key: string): string | undefined {
		return this.#channel.call("read", key);
	}

	write(key: string, value: string): void {
		this.#channel.call("write", { key, value });
	}

	delete(key: string): void {
		this.#channel.call("delete", key);
	}

	close(): void {
		this.#channel.close();
	}
}

export class CrashMemory implements CrashInterface {
	readonly #channel = new Channel("rtc", {}, {});

	read(): unknown {
		return this.#channel.call("crash");
	}

	clear(): void {
		this.#channel.call("clear");
	}
}

export class TraceMemory implements TraceInterface {
	readonly #channel = new Channel("rtc", {}, {});

	get lineCount(): number {
		return this.#channel.call("lineCount");
	}

	read(count: number): string {
		return this.#channel.call("read", count);
	}
}
