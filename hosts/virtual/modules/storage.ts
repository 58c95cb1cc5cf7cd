/** ECMA-419 `embedded:storage/key-value`; Node keeps the values in the NVS of the virtual flash. */

import type { KeyValueStore as Interface } from "../../../device/host.js";
import Channel from "./channel.js";

/** ESP-IDF NVS: NVS_KEY_NAME_MAX_SIZE, less the terminator. */
const longestKey = 15;

export class KeyValueStore implements Interface {
	readonly #channel = new Channel("key-value", {}, () => {});

	read(key: string): string | undefined {
		const { detail } = this.#channel.call("read", checked(key));
		return typeof detail === "string" ? detail : undefined;
	}

	write(key: string, value: string): void {
		this.#channel.call("write", { key: checked(key), value });
	}

	delete(key: string): void {
		this.#channel.call("delete", checked(key));
	}

	close(): void {
		this.#channel.close();
	}
}

function checked(key: string): string {
	if (key.length > longestKey) throw new RangeError(`the key ${key} is longer than ${longestKey} characters`);
	return key;
}
