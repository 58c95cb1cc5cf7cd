/** System facts of the simulator; what it cannot measure is 0. */

import config from "mc/config";
import type { Boot, Panel } from "simulator/panel";
import Time from "time";
import type { CrashMemory, System, TraceMemory } from "../../../device/host.js";

export interface SystemOptions {
	readonly panel: Panel;
	readonly boot: Boot;
}

export class SimulatedSystem implements System {
	readonly #panel: Panel;
	readonly #boot: Boot;
	#lastTicks = Time.ticks;
	#uptimeMs = 0;

	constructor(options: SystemOptions) {
		this.#panel = options.panel;
		this.#boot = options.boot;
	}

	get macAddress(): string {
		return this.#boot.macAddress;
	}

	get idfVersion(): string {
		return "none (Moddable simulator)";
	}

	get firmwareVersion(): string {
		return String(config.version ?? "0.0.0");
	}

	/** Not in a descriptor, as on a board. */
	get securityVersion(): number {
		return 0;
	}

	/** Not needed: the desktop's clock is set. */
	get buildTime(): number {
		return 0;
	}

	get cpuFrequencyMHz(): number {
		return 0;
	}

	get flashSizeMB(): number {
		return 0;
	}

	get psramSizeMB(): number {
		return 0;
	}

	get resetReason(): string {
		return this.#boot.resetReason;
	}

	/** The desktop's ticks follow its wall clock, which may step back. */
	get uptimeMs(): number {
		const ticks = Time.ticks;
		this.#uptimeMs += Math.max(0, Time.delta(this.#lastTicks, ticks));
		this.#lastTicks = ticks;
		return this.#uptimeMs;
	}

	/** The XS heap of a desktop grows as needed. */
	get freeHeapBytes(): number {
		return 0;
	}

	get minFreeHeapBytes(): number {
		return 0;
	}

	restart(): void {
		this.#panel.post({ restart: true });
	}

	print(text: string): void {
		trace(text);
	}

	/** The desktop's clock is set already. */
	setTime(_seconds: number): void {}
}

/** The simulator keeps no crash: mcsim shows it, and stops. */
export class NoCrashMemory implements CrashMemory {
	read(): undefined {
		return undefined;
	}

	clear(): void {}
}

/** The simulator keeps no trace: mcsim's console has it. */
export class NoTraceMemory implements TraceMemory {
	get lineCount(): number {
		return 0;
	}

	read(): string {
		return "";
	}
}
