/** The devices of a job, each with its state, counted by state. Without sockets, timers and clocks. */

import { isoTime } from "../sessions/view.js";

/** A device's part of a job. */
export interface Part<S extends string> {
	readonly state: S;
	/** One sentence; null: the state says it. */
	readonly reason: string | null;
	/** Of the latest change of its state, in milliseconds since 1970. */
	readonly at: number;
}

export interface PartHead<S extends string> {
	readonly deviceId: string;
	readonly state: S;
	readonly reason: string | null;
	/** UTC. */
	readonly at: string;
}

/** More would not fit a message of the bus. */
export const partsAtOnce = 2_000;

export class Parts<S extends string, P extends Part<S> = Part<S>> {
	readonly #lastStates: readonly S[];
	readonly #parts = new Map<string, P>();
	readonly #counts: Record<S, number>;
	/** Ids of the devices that have changed since `takeChanges`. */
	readonly #changed = new Set<string>();
	/** Devices that have not ended. */
	#running = 0;
	#endedAt: number | null = null;

	/** @param counts zeros @param lastStates those in which a device has ended */
	constructor(counts: Readonly<Record<S, number>>, lastStates: readonly S[]) {
		this.#counts = { ...counts };
		this.#lastStates = lastStates;
	}

	/** Milliseconds since 1970; null: not all devices have ended. */
	get endedAt(): number | null {
		return this.#endedAt;
	}

	get(deviceId: string): P | undefined {
		return this.#parts.get(deviceId);
	}

	isRunning(deviceId: string): boolean {
		const part = this.#parts.get(deviceId);
		return part !== undefined && !this.#lastStates.includes(part.state);
	}

	/** Ids of the devices that have not ended. */
	get running(): readonly string[] {
		return [...this.#parts.keys()].filter((deviceId) => this.isRunning(deviceId));
	}

	all(): Iterable<readonly [deviceId: string, part: P]> {
		return this.#parts;
	}

	/** Adds a device, or changes what it has come to. */
	set(deviceId: string, part: P): void {
		const known = this.#parts.get(deviceId);
		if (known) this.#count(known.state, -1);
		this.#count(part.state, 1);
		this.#parts.set(deviceId, part);
		this.#changed.add(deviceId);
		if (this.#running > 0) this.#endedAt = null;
		else this.#endedAt ??= part.at;
	}

	counts(): Readonly<Record<S, number>> {
		return { ...this.#counts };
	}

	/** @returns ids of devices that have changed since the last call, or some of them if they are many */
	takeChanges(): readonly string[] {
		const ids = [...this.#changed].slice(0, partsAtOnce);
		for (const id of ids) this.#changed.delete(id);
		return ids;
	}

	#count(state: S, by: 1 | -1): void {
		this.#counts[state] += by;
		if (!this.#lastStates.includes(state)) this.#running += by;
	}
}

/** As monitors get it. */
export function headOf<S extends string>(deviceId: string, { state, reason, at }: Part<S>): PartHead<S> {
	return { deviceId, state, reason, at: isoTime(at) };
}
