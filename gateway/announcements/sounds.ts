/** Stored sounds: a WAV file and a record for each, named by the SHA-256 of the file. */

import type { IncomingMessage } from "node:http";
import type { Infer } from "../../device/protocol/schema.js";
import { boolean, integer, matches, object, optional } from "../../device/protocol/schema.js";
import { maxNameLength, maxSoundSeconds, type Sound } from "../api/announcement.js";
import { pick } from "../api/json.js";
import { freeText } from "../api/text.js";
import { isDue, time } from "../api/time.js";
import { BusError } from "../bus.js";
import { sha256Of } from "../digest.js";
import type { Core } from "../extension.js";
import { watchProgress } from "../http/server.js";
import { RequestError } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import type { BlobDraft, Blobs } from "../storage/blobs.js";
import { Cache } from "../storage/cache.js";
import { Queues } from "../storage/queue.js";
import type { Records } from "../storage/records.js";
import { secondsOf } from "./wav.js";

const record = object({
	name: freeText(maxNameLength),
	/** Milliseconds. */
	lengthMs: integer(0, maxSoundSeconds * 1000),
	size: integer(1, Number.MAX_SAFE_INTEGER),
	createdAt: time,
	/** Whether it is unlisted, and removed together with its last announcement or later: see `addTemporary`. */
	isTemporary: optional(boolean()),
});
type SoundRecord = Infer<typeof record>;

const maxSounds = 100;
/** Limit of temporary sounds. */
const maxTemporary = 5;
/** Number of cached sounds, up to 4 MB each. */
const inMemory = 4;
const maxWriters = 4;
/** Time for which a device or another gateway may still play a spoken sound. */
const abandonedMs = 60 * 60_000;
/** Samples, and room for other chunks. */
const mostBytes = maxSoundSeconds * 32_000 + 256 * 1024;

const soundsFile = Object.freeze({
	what: "description",
	isKey: (key: string) => /^[0-9a-f]{64}$/.test(key),
	parse: (stored: unknown, sha256: string): SoundRecord | undefined => {
		const value = pick(record, stored);
		if (!matches(record, value)) return undefined;
		return value.name === "" && !value.isTemporary ? { ...value, name: sha256.slice(0, 8) } : value;
	},
});

export class Sounds {
	readonly #core: Core;
	readonly #records: Records<SoundRecord>;
	readonly #blobs: Blobs;
	/** Contents by id, as many devices play the same sound simultaneously. */
	readonly #recent = new Cache<Buffer | undefined>(inMemory);
	readonly #sounds = new Map<string, SoundRecord>();
	/** Additions and deletions, so that the deletion of a sound does not affect the same one added again. */
	readonly #writes = new Queues(maxWriters);
	/** Number of announcements playing a sound, by id, as equal texts share a sound. */
	readonly #uses = new Map<string, number>();
	/** Ids of the latest temporary sounds. */
	readonly #temporary = new Set<string>();
	#timer: NodeJS.Timeout | undefined;

	constructor(core: Core) {
		this.#core = core;
		this.#records = core.records<SoundRecord>({
			name: "sounds",
			...soundsFile,
			onRecord: (sha256, kept) => {
				if (kept) this.#sounds.set(sha256, kept);
				else this.#sounds.delete(sha256);
			},
		});
		const onProblem = (problem: string) => core.log.warn({ problem }, "sounds");
		this.#blobs = core.blobs({ name: "sound-files", suffix: ".wav", onProblem });
	}

	/** @throws {NodeJS.ErrnoException} */
	async open(): Promise<void> {
		for (const [sha256, kept] of await this.#records.load()) this.#sounds.set(sha256, kept);
		const remove = () =>
			this.#removeAbandoned().catch((error) => this.#core.log.error({ err: error }, "sounds"));
		// Continues after this resolves, as the schedules are opened later.
		void remove();
		// Skipped in a cluster, where another gateway may use its sounds longer.
		if (!this.#core.peers.bus) this.#timer = setInterval(remove, abandonedMs).unref();
		await this.#blobs.open((sha256) => this.#sounds.has(sha256) || this.#records.unread.has(sha256));
	}

	/** Removes sounds of announcements started by an earlier run, and of deleted schedules. */
	async #removeAbandoned(): Promise<void> {
		for (const [sha256, { createdAt }] of [...this.#sounds])
			if (isDue(createdAt + abandonedMs, this.#core.now(), abandonedMs)) await this.#deleteUnused(sha256);
	}

	/** Deletes a temporary sound that neither an announcement nor a schedule plays. */
	#deleteUnused(id: string): Promise<void> {
		return this.#writes.add(id, async () => {
			const scheduled = await this.scheduled();
			const isUsed = this.#uses.has(id) || this.#temporary.has(id) || scheduled.has(id);
			if (!isUsed && this.#sounds.get(id)?.isTemporary) await this.#delete(id);
		});
	}

	/** Returns the titles of the schedules that will play a sound, by its id; none if all have ended. */
	async scheduled(): Promise<ReadonlyMap<string, readonly string[]>> {
		return (await this.#core.services.scheduledSounds?.()) ?? new Map();
	}

	close(): void {
		clearInterval(this.#timer);
	}

	/** Returns the sounds that are not temporary, and others, newest first. @param others by id */
	list(others: Pick<ReadonlyMap<string, unknown>, "has"> = new Map()): readonly Sound[] {
		return [...this.#sounds]
			.filter(([id, { isTemporary }]) => !isTemporary || others.has(id))
			.sort(([, a], [, b]) => b.createdAt - a.createdAt)
			.map(([sha256, kept]) => describe(sha256, kept));
	}

	find(id: string): Sound | undefined {
		const kept = this.#sounds.get(id);
		return kept && describe(id, kept);
	}

	/**
	 * Returns the arguments for `sendFile`, or undefined.
	 * @throws {NodeJS.ErrnoException}
	 * @throws {RequestError}
	 */
	async content(id: string) {
		const kept = this.#sounds.get(id);
		const bytes =
			kept &&
			(await this.#recent
				.get(id, () => this.#blobs.read(id))
				.catch((error: unknown) => {
					throw error instanceof BusError ? this.#notReached("read from") : error;
				}));
		if (!bytes) return undefined;
		const lastModified = new Date(kept.createdAt).toUTCString();
		return { bytes, sha256: id, digestOf: () => undefined, lastModified };
	}

	/**
	 * Stores a WAV file. An existing one is only renamed.
	 * @throws {RequestError} 409, 413, 422, and 507 or 503 if it cannot be stored
	 * @throws {NodeJS.ErrnoException}
	 */
	async add(name: string, pieces: readonly Uint8Array[], isTemporary = false): Promise<Sound> {
		if (!isTemporary && this.list().length >= maxSounds)
			throw new RequestError(409, `${maxSounds} sounds are stored, the maximum. Delete one first.`);
		const file = Buffer.concat(pieces);
		const lengthMs = Math.round(secondsOf(file) * 1000);
		if (file.length > mostBytes)
			throw new RequestError(413, `The file is larger than ${mostBytes} bytes. Shorten it.`);
		const draft = await this.#blobs.begin();
		try {
			await draft.write(file);
			const sha256 = sha256Of(file);
			const fields = { name, lengthMs, size: file.length, createdAt: this.#core.now() };
			return await this.#writes.add(sha256, () => this.#store(sha256, fields, isTemporary, draft));
		} catch (error) {
			await draft.discard();
			if (error instanceof BusError) throw this.#notReached("written to");
			throw error;
		}
	}

	async #store(sha256: string, fields: SoundRecord, isTemporary: boolean, draft: BlobDraft): Promise<Sound> {
		const known = this.#sounds.get(sha256);
		const kept: SoundRecord = {
			...fields,
			...(isTemporary && known && { name: known.name }),
			...(isTemporary && (known?.isTemporary ?? true) && { isTemporary }),
		};
		await draft.commit(sha256);
		this.#sounds.set(sha256, kept);
		const isKept = await this.#records.save(sha256, kept);
		const current = this.#sounds.get(sha256);
		// Unless another gateway stored the same sound concurrently.
		if (!isKept && (!current || current === kept)) {
			if (!known) await this.#delete(sha256);
			else {
				this.#sounds.set(sha256, known);
				void this.#records.save(sha256, known);
			}
			throw this.#notReached("written to");
		}
		if (isTemporary) this.hold(sha256);
		return describe(sha256, kept);
	}

	/**
	 * Stores a temporary WAV file. It is not listed, and can be played until five newer ones were added or an
	 * hour after this gateway stopped, or as long as a schedule that plays it exists. A stored sound stays stored.
	 * @throws like `add`
	 */
	async addTemporary(name: string, pieces: readonly Uint8Array[]): Promise<Sound> {
		const sound = await this.add(name, pieces, true);
		this.#temporary.delete(sound.id);
		this.#temporary.add(sound.id);
		await this.release(sound.id);
		const [oldest = ""] = this.#temporary;
		if (this.#temporary.size > maxTemporary && this.#temporary.delete(oldest) && !this.#uses.has(oldest))
			await this.release(oldest);
		return sound;
	}

	/** Marks a sound as used by an announcement, which must call `release` at its end. */
	hold(id: string): void {
		this.#uses.set(id, (this.#uses.get(id) ?? 0) + 1);
	}

	/** Undoes `hold`, or releases a temporary sound. One used by another gateway is removed after an hour. */
	async release(id: string): Promise<void> {
		const uses = (this.#uses.get(id) ?? 1) - 1;
		if (uses > 0) return void this.#uses.set(id, uses);
		this.#uses.delete(id);
		if (!this.#core.peers.bus) await this.#deleteUnused(id);
	}

	#notReached(how: string): RequestError {
		const { place, status } = this.#core.storage;
		return new RequestError(status, `The sound could not be ${how} ${place}. The log has the reason.`);
	}

	/**
	 * Deletes a sound after the announcements that play it.
	 * @returns whether the deletion is stored
	 */
	remove(id: string): Promise<boolean> {
		return this.#writes.add(id, async () => {
			const kept = this.#sounds.get(id);
			this.#temporary.delete(id);
			if (!kept || !this.#uses.has(id)) return this.#delete(id);
			const deleted = { ...kept, isTemporary: true };
			this.#sounds.set(id, deleted);
			if (await this.#records.save(id, deleted)) return true;
			if (this.#sounds.get(id) === deleted) this.#sounds.set(id, kept);
			return false;
		});
	}

	/** @returns whether it is removed */
	async #delete(id: string): Promise<boolean> {
		if (!(await this.#records.remove(id))) return false;
		this.#sounds.delete(id);
		this.#recent.delete(id);
		await this.#blobs.remove(id).catch((error: Error) => {
			this.#core.log.warn({ problem: `removing the file of sound ${id} failed: ${error.message}` }, "sounds");
		});
		return true;
	}
}

function describe(sha256: string, { name, lengthMs, size, createdAt }: SoundRecord): Sound {
	return { id: sha256, name, seconds: lengthMs / 1000, size, sha256, createdAt: isoTime(createdAt) };
}

/**
 * Reads the body of a request.
 * @throws {RequestError} 408 if the upload stalls, 400 if it is incomplete
 */
export async function* bodyOf(request: IncomingMessage): AsyncIterable<Buffer> {
	const chunks = request.iterator({ destroyOnReturn: false });
	let stopWatching = () => {};
	const stalled = new Promise<never>((_resolve, reject) => {
		const fail = () => reject(new RequestError(408, "The upload stalled. Try again."));
		stopWatching = watchProgress(request, fail);
	});
	// It may stall while a chunk is processed.
	stalled.catch(() => {});
	try {
		for (;;) {
			const next = chunks.next().catch(() => {
				throw new RequestError(400, "The upload was interrupted. Try again.");
			});
			const { done, value } = await Promise.race([next, stalled]);
			if (done) return;
			yield value;
		}
	} finally {
		stopWatching();
	}
}
