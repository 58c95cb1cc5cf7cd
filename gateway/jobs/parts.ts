/** Devices of a job with their states and counts by state. Without I/O, timers and clocks. */

import { zeros } from "../api/statuses.js";
import { isoTime } from "../sessions/view.js";

/** Time on both clocks, in milliseconds. */
export interface Moment {
	/** Wall clock, since 1970. */
	readonly now: number;
	readonly monotonic: number;
}

/** State of a device as shown to clients. */
export interface ShownPart<S extends string> {
	readonly deviceId: string;
	readonly state: S;
	/** Sentence; null if the state needs no explanation. */
	readonly reason: string | null;
	/** Time of the latest change of state, in UTC. */
	readonly at: string;
}

export interface PartsOptions<S extends string, M extends object> {
	readonly states: readonly S[];
	/** Final states. */
	readonly lastStates: readonly S[];
	/** Initial values of the additional fields. */
	readonly first: M;
}

/** Maximum number of devices in a message, limited by the size of bus messages and of frames to monitors. */
export const partsAtOnce = 2_000;

export class Parts<S extends string, M extends object = object> {
	readonly #options: PartsOptions<S, M>;
	/** States by device id; `since` is the monotonic time of the latest change of state. */
	readonly #parts = new Map<string, { readonly since: number; readonly shown: ShownPart<S> & M }>();
	readonly #counts: Record<S, number>;
	/** Ids of the devices that have changed since `takeChanges`. */
	readonly #changed = new Set<string>();
	/** Devices that have not ended. */
	#running = 0;
	#ended: Moment | undefined;

	constructor(options: PartsOptions<S, M>) {
		this.#options = options;
		this.#counts = zeros(options.states);
	}

	/** Time in milliseconds since 1970; null if not all devices have ended. */
	get endedAt(): number | null {
		return this.#ended?.now ?? null;
	}

	/** Whether all devices have ended, longer ago than a duration in ms. */
	endedBefore(ageMs: number, { monotonic }: Moment): boolean {
		return this.#ended !== undefined && monotonic - this.#ended.monotonic >= ageMs;
	}

	get counts(): Readonly<Record<S, number>> {
		return { ...this.#counts };
	}

	get ids(): Iterable<string> {
		return this.#parts.keys();
	}

	/** Ids of the devices that have not ended. */
	get running(): readonly string[] {
		return [...this.ids].filter((deviceId) => this.isRunning(deviceId));
	}

	isRunning(deviceId: string): boolean {
		const state = this.stateOf(deviceId);
		return state !== undefined && !this.#options.lastStates.includes(state);
	}

	/** @returns undefined if the device is not part of the job */
	stateOf(deviceId: string): S | undefined {
		return this.#parts.get(deviceId)?.shown.state;
	}

	/** Returns the time since the latest state change of a device, in milliseconds. */
	ageOf(deviceId: string, { monotonic }: Moment): number {
		return monotonic - (this.#parts.get(deviceId)?.since ?? monotonic);
	}

	/** Adds a device or sets its state. */
	set(deviceId: string, state: S, moment: Moment, reason: string | null = null, more?: Partial<M>): void {
		const known = this.#parts.get(deviceId)?.shown;
		if (known) this.#count(known.state, -1);
		this.#count(state, 1);
		const shown = { ...(known ?? this.#options.first), deviceId, state, reason, at: isoTime(moment.now) };
		this.#parts.set(deviceId, { since: moment.monotonic, shown });
		this.note(deviceId, more);
		if (this.#running > 0) this.#ended = undefined;
		else this.#ended ??= moment;
	}

	/** Changes additional fields of a device. */
	note(deviceId: string, more: Partial<M> = {}): void {
		const part = this.#parts.get(deviceId);
		if (!part) return;
		this.#parts.set(deviceId, { ...part, shown: { ...part.shown, ...more } });
		this.#changed.add(deviceId);
	}

	/** Returns the representation for HTTP responses, without devices. */
	head() {
		return { endedAt: this.#ended ? isoTime(this.#ended.now) : null, counts: this.counts };
	}

	/** Returns the representation for frames. @param devices changed devices */
	progress<D>(devices: readonly D[]) {
		return { isOver: this.#ended !== undefined, counts: this.counts, devices };
	}

	/** Returns the states of all devices. */
	shown(): readonly (ShownPart<S> & M)[] {
		return Array.from(this.#parts.values(), ({ shown }) => shown);
	}

	/** Returns up to `partsAtOnce` devices that have changed since the last call. */
	takeChanges(): readonly (ShownPart<S> & M)[] {
		const ids = [...this.#changed].slice(0, partsAtOnce);
		for (const id of ids) this.#changed.delete(id);
		return ids.flatMap((deviceId) => this.#parts.get(deviceId)?.shown ?? []);
	}

	#count(state: S, by: 1 | -1): void {
		this.#counts[state] += by;
		if (!this.#options.lastStates.includes(state)) this.#running += by;
	}
}
