/** What survives a restart: the last crash, and the last lines that were traced. Node keeps both. */

import type { CrashMemory as CrashInterface, TraceMemory as TraceInterface } from "../../../device/host.js";
import Channel from "./channel.js";

export class CrashMemory implements CrashInterface {
	readonly #channel = new Channel("rtc", {}, () => {});

	read(): unknown {
		return this.#channel.call("crash").detail;
	}

	clear(): void {
		this.#channel.call("clear");
	}
}

export class TraceMemory implements TraceInterface {
	readonly #channel = new Channel("rtc", {}, () => {});

	get lineCount(): number {
		return Number(this.#channel.call("lineCount").detail);
	}

	read(count: number): string {
		return String(this.#channel.call("read", count).detail);
	}
}
