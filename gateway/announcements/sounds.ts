/** The kept sounds: a WAV file and a record for each, by the SHA-256 of the file. */

import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Infer } from "../../device/protocol/schema.js";
import { boolean, integer, matches, object, optional } from "../../device/protocol/schema.js";
import { longestName, longestSeconds, type Sound } from "../api/announcement.js";
import { parseJson, pick } from "../api/json.js";
import { freeText } from "../api/text.js";
import { isDue, time } from "../api/time.js";
import { BusError } from "../bus.js";
import type { Core } from "../extension.js";
import { HttpProblem } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import type { Blobs } from "../storage/blobs.js";
import type { Records } from "../storage/records.js";
import { WavCheck, WavError } from "./wav.js";

const record = object({
	name: freeText(longestName),
	/** Milliseconds. */
	lengthMs: integer(0, longestSeconds * 1000),
	size: integer(1, Number.MAX_SAFE_INTEGER),
	createdAt: time,
	/** Not listed, and removed with the last announcement that plays it, or after that: see `addPassing`. */
	isTemporary: optional(boolean()),
});
type SoundRecord = Infer<typeof record>;

const soundsAtMost = 100;
/** Of those that are not kept. */
const passingAtMost = 5;
/** Of 4 MB each at most. */
const inMemory = 4;
/** A device, or another gateway, may still play what was spoken this long ago. */
const abandonedMs = 60 * 60_000;
/** The samples, and room for other chunks. */
const mostBytes = longestSeconds * 32_000 + 256 * 1024;

const soundsFile = Object.freeze({
	what: "description",
	isKey: (key: string) => /^[0-9a-f]{64}$/.test(key),
	format: (kept: SoundRecord) => `${JSON.stringify(kept, undefined, "\t")}\n`,
	parse: (content: string, sha256: string): SoundRecord | undefined => {
		const value = pick(record, parseJson(content));
		if (!matches(record, value)) return undefined;
		return value.name === "" && !value.isTemporary ? { ...value, name: sha256.slice(0, 8) } : value;
	},
});

export class Sounds {
	readonly #core: Core;
	readonly #records: Records<SoundRecord>;
	readonly #blobs: Blobs;
	/** By id, the one that was asked for last at the end. */
	readonly #recent = new Map<string, Promise<Buffer | undefined>>();
	readonly #sounds = new Map<string, SoundRecord>();
	/** How many announcements play a sound, by id: equal texts give the same one. */
	readonly #uses = new Map<string, number>();
	/** Ids of the latest that came for an announcement alone. */
	readonly #passing = new Set<string>();
	#timer: NodeJS.Timeout | undefined;

	constructor(core: Core) {
		this.#core = core;
		const onProblem = (problem: string) => core.log.warn({ problem }, "sounds");
		this.#records = core.records<SoundRecord>({
			name: "sounds",
			...soundsFile,
			onProblem,
			onRecord: (sha256, kept) => {
				if (kept) this.#sounds.set(sha256, kept);
				else this.#sounds.delete(sha256);
			},
		});
		this.#blobs = core.blobs({ name: "sound-files", suffix: ".wav", onProblem });
	}

	/** @throws {NodeJS.ErrnoException} */
	async open(): Promise<void> {
		for (const [sha256, kept] of await this.#records.load()) this.#sounds.set(sha256, kept);
		await this.#removeAbandoned();
		const remove = () =>
			this.#removeAbandoned().catch((error) => this.#core.log.error({ err: error }, "sounds"));
		// Of several gateways another one may use its own for longer.
		if (!this.#core.peers.bus) this.#timer = setInterval(remove, abandonedMs).unref();
		await this.#blobs.open((sha256) => this.#sounds.has(sha256) || this.#records.unread.has(sha256));
	}

	/** Of announcements that a gateway had begun before its end. */
	async #removeAbandoned(): Promise<void> {
		for (const [sha256, { isTemporary, createdAt }] of this.#sounds) {
			const isUsed = this.#uses.has(sha256) || this.#passing.has(sha256);
			if (isTemporary && !isUsed && isDue(createdAt + abandonedMs, this.#core.now(), abandonedMs))
				await this.#delete(sha256);
		}
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		await this.#records.close();
	}

	/** The newest first. */
	list(): readonly Sound[] {
		return [...this.#sounds]
			.filter(([, { isTemporary }]) => !isTemporary)
			.sort(([, a], [, b]) => b.createdAt - a.createdAt)
			.map(([sha256, kept]) => describe(sha256, kept));
	}

	find(id: string): Sound | undefined {
		const kept = this.#sounds.get(id);
		return kept && describe(id, kept);
	}

	/** As `sendFile` takes it. @returns undefined if there is none @throws {NodeJS.ErrnoException} @throws {HttpProblem} */
	async content(id: string) {
		const kept = this.#sounds.get(id);
		const bytes =
			kept &&
			(await this.#cached(id).catch((error: unknown) => {
				throw error instanceof BusError ? this.#notReached("read from") : error;
			}));
		if (!bytes) return undefined;
		const lastModified = new Date(kept.createdAt).toUTCString();
		return { bytes, sha256: id, digestOf: () => undefined, lastModified };
	}

	/** Many devices play the same sound at once: the latest few are in memory. */
	#cached(id: string): Promise<Buffer | undefined> {
		const reading = this.#recent.get(id) ?? this.#blobs.read(id);
		this.#recent.delete(id);
		this.#recent.set(id, reading);
		reading.catch(() => this.#recent.delete(id));
		for (const each of this.#recent.keys()) if (this.#recent.size > inMemory) this.#recent.delete(each);
		return reading;
	}

	/**
	 * Reads a WAV file and keeps it; one that is kept already only gets the name.
	 * @throws {HttpProblem} 400, 408, 409, 413, 422, and 507 or 503 if it cannot be kept
	 * @throws {NodeJS.ErrnoException}
	 */
	async add(
		name: string,
		content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
		isTemporary = false,
	): Promise<Sound> {
		if (!isTemporary && this.list().length >= soundsAtMost)
			throw new HttpProblem(409, `${soundsAtMost} sounds are kept; delete one first.`);
		const draft = await this.#blobs.begin();
		const check = new WavCheck();
		const hash = createHash("sha256");
		let size = 0;
		try {
			for await (const chunk of content) {
				size += chunk.length;
				if (size > mostBytes)
					throw new HttpProblem(413, `The file is larger than ${mostBytes} bytes; shorten it.`);
				check.write(chunk);
				hash.update(chunk);
				await draft.write(chunk);
			}
			const lengthMs = Math.round(check.end() * 1000);
			const sha256 = hash.digest("hex");
			const known = this.#sounds.get(sha256);
			const kept: SoundRecord = {
				name: isTemporary && known ? known.name : name,
				lengthMs,
				size,
				createdAt: this.#core.now(),
				...(isTemporary && (known?.isTemporary ?? true) && { isTemporary }),
			};
			await draft.keep(sha256);
			this.#sounds.set(sha256, kept);
			const isKept = await this.#records.save(sha256, kept);
			const current = this.#sounds.get(sha256);
			// Or another gateway has stored the same sound at the same moment.
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
		} catch (error) {
			await draft.discard();
			if (error instanceof WavError) throw new HttpProblem(422, error.message);
			if (error instanceof BusError) throw this.#notReached("written to");
			throw error;
		}
	}

	/**
	 * Reads a WAV file for announcements alone: it is not listed, and can be played until five newer ones have come, or an hour
	 * after this gateway has stopped. One that is kept already stays so.
	 * @throws as `add` does
	 */
	async addPassing(name: string, content: Parameters<Sounds["add"]>[1]): Promise<Sound> {
		const sound = await this.add(name, content, true);
		this.#passing.delete(sound.id);
		this.#passing.add(sound.id);
		await this.release(sound.id);
		const [oldest = ""] = this.#passing;
		if (this.#passing.size > passingAtMost && this.#passing.delete(oldest) && !this.#uses.has(oldest))
			await this.release(oldest);
		return sound;
	}

	/** An announcement plays it, and calls release() at its end. */
	hold(id: string): void {
		this.#uses.set(id, (this.#uses.get(id) ?? 0) + 1);
	}

	/** Of hold(), or of a temporary sound that was added. Another gateway may play the same: then it goes after an hour. */
	async release(id: string): Promise<void> {
		const uses = (this.#uses.get(id) ?? 1) - 1;
		if (uses > 0) return void this.#uses.set(id, uses);
		this.#uses.delete(id);
		if (this.#core.peers.bus || this.#passing.has(id)) return;
		if (this.#sounds.get(id)?.isTemporary) await this.#delete(id);
	}

	#notReached(how: string): HttpProblem {
		const { place, status } = this.#core.storage;
		return new HttpProblem(status, `The sound could not be ${how} ${place}; the log says why.`);
	}

	/** Deletes it, with the end of the announcements that play it. @returns whether that could be stored */
	async remove(id: string): Promise<boolean> {
		const kept = this.#sounds.get(id);
		this.#passing.delete(id);
		if (!kept || !this.#uses.has(id)) return this.#delete(id);
		const deleted = { ...kept, isTemporary: true };
		this.#sounds.set(id, deleted);
		if (await this.#records.save(id, deleted)) return true;
		if (this.#sounds.get(id) === deleted) this.#sounds.set(id, kept);
		return false;
	}

	/** @returns whether it is gone */
	async #delete(id: string): Promise<boolean> {
		if (!(await this.#records.remove(id))) return false;
		this.#sounds.delete(id);
		this.#recent.delete(id);
		await this.#blobs.remove(id).catch((error: Error) => {
			this.#core.log.warn({ problem: `the file of the sound ${id} stays: ${error.message}` }, "sounds");
		});
		return true;
	}
}

function describe(sha256: string, { name, lengthMs, size, createdAt }: SoundRecord): Sound {
	return { id: sha256, name, seconds: lengthMs / 1000, size, sha256, createdAt: isoTime(createdAt) };
}

/** The body of a request. @throws {HttpProblem} 408 if nothing comes for this long, 400 if it breaks off */
export async function* bodyOf(request: IncomingMessage, stalledMs = 30_000): AsyncIterable<Buffer> {
	const chunks = request.iterator({ destroyOnReturn: false });
	for (;;) {
		let timer: NodeJS.Timeout | undefined;
		const stalled = new Promise<never>((_resolve, reject) => {
			const give = () => reject(new HttpProblem(408, "The upload has stalled; send it again."));
			timer = setTimeout(give, stalledMs).unref();
		});
		const next = chunks.next().catch(() => {
			throw new HttpProblem(400, "The upload broke off; send it again.");
		});
		const { done, value } = await Promise.race([next, stalled]).finally(() => clearTimeout(timer));
		if (done) return;
		yield value;
	}
}
