/**
 * Crashes of all devices by cause. The gateway that stores a crash increments its cause; all gateways share the
 * sums. Increments are kept until they are merged with the stored cause, so concurrent writes neither lose nor
 * duplicate them.
 */

import { type Crash, crashKinds } from "../../device/protocol/messages.js";
import { boolean, type Infer, integer, list, object, oneOf, string } from "../../device/protocol/schema.js";
import { time } from "../api/time.js";
import type { Core } from "../extension.js";
import type { Device } from "../sessions/device.js";
import { Queue } from "../storage/queue.js";
import { jsonRecord, type Records, Superseded } from "../storage/records.js";
import { signatureOf } from "./crash-signature.js";

/** Limit. Beyond it, a new cause replaces one without a crash for 90 days, or is dropped. */
const maxCauses = 500;
const staleMs = 90 * 24 * 60 * 60 * 1000;
const maxVersions = 20;
/** Retry interval after a failed write. */
const retryMs = 60_000;
const key = /^[0-9a-f]{16}$/;

const count = integer(0, Number.MAX_SAFE_INTEGER);
const version = string(32);
const occurrence = object({ version, at: time, deviceId: string(64) });
const storedCause = object({
	kind: oneOf(...crashKinds),
	/** Message of the first crash. */
	message: string(512),
	frames: list(string(1024), 3),
	count,
	first: occurrence,
	last: occurrence,
	versions: list(object({ version, count }), maxVersions),
	seen: boolean(),
});
export type StoredCause = Infer<typeof storedCause>;

export interface CrashCausesOptions {
	readonly core: Pick<Core, "records" | "log" | "now">;
	/** Called for a cause that no gateway knew before, on one gateway only. */
	readonly onNew: (cause: StoredCause, id: string) => void;
	/** Called when a cause was written by this or another gateway. */
	readonly onChanged: () => void;
}

export class CrashCauses {
	readonly #options: CrashCausesOptions;
	readonly #records: Records<StoredCause>;
	readonly #known = new Map<string, StoredCause>();
	/** Increments to be written. */
	readonly #added = new Map<string, StoredCause>();
	readonly #writes = new Queue();
	#timer: NodeJS.Timeout | undefined;

	constructor(options: CrashCausesOptions) {
		this.#options = options;
		this.#records = options.core.records<StoredCause>({
			name: "crash-causes",
			what: "crash causes",
			isKey: (id) => key.test(id),
			...jsonRecord(storedCause),
			onRecord: (id, cause) => this.#onRecord(id, cause),
		});
	}

	/** Stored causes by id. */
	get known(): ReadonlyMap<string, StoredCause> {
		return this.#known;
	}

	/** @throws {NodeJS.ErrnoException} if the folder cannot be used */
	async open(): Promise<void> {
		await this.#records.each((id, cause) => this.#known.set(id, cause));
		this.#timer = setInterval(() => void this.#write(), retryMs).unref();
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.#write();
	}

	/** Counts a crash stored by this gateway. */
	async count({ deviceId }: Pick<Device, "deviceId">, crash: Crash): Promise<void> {
		const { id, frames } = signatureOf(crash);
		const { kind, message, firmware_version: version } = crash;
		const occurrence = { version, at: this.#options.core.now(), deviceId };
		const versions = [{ version, count: 1 }];
		const counted = { kind, message, frames, count: 1, versions, seen: false };
		this.#add(id, { ...counted, first: occurrence, last: occurrence });
		await this.#write();
	}

	/**
	 * Marks causes as seen, ignoring unknown ones.
	 * @returns whether the marks are stored
	 */
	async see(items: readonly { readonly kind: string; readonly id: string }[]): Promise<boolean> {
		for (const { kind, id } of items) {
			const cause = kind === "crash_new" && this.#known.get(id);
			if (cause) this.#add(id, { ...cause, count: 0, versions: [], seen: true });
		}
		return this.#write();
	}

	#add(id: string, cause: StoredCause): void {
		const before = this.#added.get(id);
		this.#added.set(id, before ? merge(before, cause) : cause);
	}

	/**
	 * Writes pending increments.
	 * @returns whether all are written; the next call retries the rest
	 */
	#write(): Promise<boolean> {
		return this.#writes.add(async () => {
			try {
				for (const id of [...this.#added.keys()]) while (!(await this.#writeOne(id)));
				return true;
			} catch (error) {
				this.#options.core.log.warn({ err: error }, "crash causes: writing failed, retrying later");
				return false;
			}
		});
	}

	#onRecord(id: string, cause: StoredCause | undefined): void {
		if (cause === undefined) return void this.#known.delete(id);
		this.#known.set(id, cause);
		this.#options.onChanged();
	}

	/**
	 * @returns false if another gateway wrote first, after reading its value
	 * @throws {Error} if writing fails
	 */
	async #writeOne(id: string): Promise<boolean> {
		const { onNew, onChanged } = this.#options;
		const added = this.#added.get(id);
		const before = this.#known.get(id);
		if (!added) return true;
		this.#added.delete(id);
		if (!before && !(await this.#makeRoom())) return true;
		const cause = before ? merge(before, added) : added;
		try {
			await this.#records.saveOnce(id, cause);
		} catch (error) {
			this.#add(id, added);
			if (error instanceof Superseded) return false;
			throw error;
		}
		// Another gateway may have written meanwhile.
		if (this.#known.get(id) === before) this.#known.set(id, cause);
		onChanged();
		if (!before) onNew(cause, id);
		return true;
	}

	async #makeRoom(): Promise<boolean> {
		if (this.#known.size < maxCauses) return true;
		const [stalest] = [...this.#known].sort(([, a], [, b]) => a.last.at - b.last.at);
		if (!stalest || stalest[1].last.at > this.#options.core.now() - staleMs) return false;
		if (!(await this.#records.remove(stalest[0]))) return false;
		this.#known.delete(stalest[0]);
		return true;
	}
}

/** Merges two causes with the same signature, independent of their order. */
function merge(a: StoredCause, b: StoredCause): StoredCause {
	const versions = new Map(a.versions.map(({ version, count }) => [version, count]));
	for (const { version, count } of b.versions) versions.set(version, (versions.get(version) ?? 0) + count);
	return {
		...a,
		count: a.count + b.count,
		first: b.first.at < a.first.at ? b.first : a.first,
		last: b.last.at > a.last.at ? b.last : a.last,
		versions: [...versions]
			.map(([version, count]) => ({ version, count }))
			.sort((a, b) => b.count - a.count)
			.slice(0, maxVersions),
		seen: a.seen || b.seen,
	};
}
