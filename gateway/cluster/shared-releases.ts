/**
 * The releases of all gateways as one catalog. Each gateway tells in a bucket which it has in its own RELEASES_DIR, and
 * puts their files into the bus's files; the others list them, and get the files into a cache. Under one version a
 * gateway's own release counts for itself, and the one told last for gateways that have none.
 */

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { compareBuild, prerelease } from "semver";
import type { Catalog, CatalogFile, Release, ReleaseFile, Releases } from "../firmware/catalog.js";
import type { Disk } from "../storage/atomic-file.js";
import { isLater } from "../storage/json-file-store.js";
import { type Bus, BusError } from "./bus.js";
import { ReleaseFiles } from "./release-files.js";
import { digestsOf, filesOf, parseShared, ReleaseRecords, type SharedRelease } from "./release-records.js";
import { Replication } from "./replication.js";

export interface SharedReleasesOptions {
	readonly bus: Bus;
	/** Of RELEASES_DIR. */
	readonly own: CatalogFile;
	/** Of the cache; made if it is missing. */
	readonly directory: string;
	readonly disk: Disk;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	readonly onProblem: (sentence: string) => void;
}

const lookMs = 1_000;
/** In this time another gateway that has a removed release tells of it again. */
const graceMs = 3_000;
/** How long a request waits for a file from the bus. */
const fetchMs = 5_000;

export class SharedReleases implements Releases {
	readonly #options: SharedReleasesOptions;
	readonly #files: ReleaseFiles;
	readonly #records: ReleaseRecords;
	readonly #replication: Replication<SharedRelease>;
	/** Told by this gateway before, under a version that has another content now. */
	readonly #replaced: Release[] = [];
	readonly #reported = new Set<string>();
	/** The latest of RELEASES_DIR, by version. */
	#own: ReadonlyMap<string, Release> = new Map();
	#timer: NodeJS.Timeout | undefined;
	#looking: Promise<void> | undefined;
	#filling: Promise<void> | undefined;
	#isClosed = false;

	constructor(options: SharedReleasesOptions) {
		const { bus, directory, disk, monotonic, now } = options;
		this.#options = options;
		this.#files = new ReleaseFiles({ ...options, onFailed: this.#onFailed });
		this.#records = new ReleaseRecords(disk, join(directory, "releases.json"));
		this.#replication = new Replication<SharedRelease>({
			bus,
			bucket: "gw-releases",
			own: {
				read: async (version) => this.#records.find(version),
				save: (_version, shared) => this.#set(shared),
				remove: async (version) => this.#records.markRemoved(version, monotonic()),
			},
			format: ({ release, at }) => JSON.stringify({ release, at }),
			parse: (text) => parseShared(JSON.parse(text)),
			changedAt: ({ at }) => at,
			merge: (theirs, mine) => (isLater(orderOf(mine), orderOf(theirs)) ? mine : theirs),
			prepare: ({ release }) => this.#send(release),
			onRecord: () => this.#look(),
			now,
			onProblem: (sentence) => this.#report(sentence),
		});
	}

	/** Loads what was cached, and begins to exchange releases. @throws {NodeJS.ErrnoException} */
	async open(): Promise<void> {
		await this.#files.open();
		await this.#records.load().catch((error: Error) => this.#report(`Releases of others: ${error.message}`));
		for (const record of this.#records.all) this.#replication.has(record.release.version, record);
		this.#replication.start();
		this.#timer = setInterval(() => this.#look(), lookMs).unref();
		this.#look();
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		this.#isClosed = true;
		await this.#replication.close();
		await this.#files.close();
		await Promise.all([this.#looking, this.#filling]);
		await this.#records.close();
	}

	/** Also those of other gateways, if their files are in the cache or can be had. */
	async read(): Promise<Catalog> {
		const { bus, own } = this.#options;
		const catalog = await own.read();
		this.#own = new Map(catalog.releases.map((release) => [release.version, release]));
		this.#compare();
		const others = this.#records.all
			.map(({ release }) => release)
			.filter(({ version }) => !this.#own.has(version))
			.filter(
				(release) => bus.isConnected || [...digestsOf([release])].every((each) => this.#files.pathOf(each)),
			);
		if (others.length === 0) return catalog;
		const releases = [...catalog.releases, ...others].sort((a, b) => compareBuild(b.version, a.version));
		const candidates = [...others.map(({ version }) => version), ...(catalog.latest ? [catalog.latest] : [])];
		const stable = candidates.filter((version) => prerelease(version) === null);
		return { ...catalog, latest: stable.sort(compareBuild).at(-1) ?? null, releases };
	}

	async locate(file: ReleaseFile): Promise<string | undefined> {
		const path = this.#files.pathOf(file.sha256) ?? (await this.#options.own.locate(file));
		if (path !== undefined || !this.#needed().has(file.sha256)) return path;
		return Promise.race([this.#files.fetch(file.sha256), pause(fetchMs, undefined, { ref: false })]);
	}

	/** Tells what has changed in RELEASES_DIR. */
	#compare(): void {
		const { own, monotonic } = this.#options;
		// Before, it is not known what others have.
		if (!this.#replication.hasCaughtUp || own.problem !== undefined || this.#isClosed) return;
		for (const [version, release] of this.#own) {
			const record = this.#records.find(version);
			const isSame = isDeepStrictEqual(record?.release, release);
			if (!record || (record.isOwn && !isSame)) this.#tell(release);
			else if (!isSame)
				this.#report(
					`Release ${version} in RELEASES_DIR differs from that of another gateway; this gateway offers its own. Make it the same on all, or give it another version.`,
				);
			else if (!record.isOwn) this.#set(record).catch(this.#onFailed);
		}
		for (const record of this.#records.all) {
			const { version } = record.release;
			if (!record.isOwn || record.removedAt !== undefined || this.#own.has(version)) continue;
			if (own.isMissing) {
				this.#report(
					"RELEASES_DIR has no catalog.json, as where a disk is not mounted; the releases that it had stay with all gateways.",
				);
				this.#set(record).catch(this.#onFailed);
			} else {
				this.#records.markRemoved(version, monotonic());
				this.#replication.removed(version);
			}
		}
	}

	#tell(release: Release): void {
		const { version } = release;
		const before = this.#records.all.find((record) => record.isOwn && record.release.version === version);
		if (before) this.#replaced.push(before.release);
		const shared = { release, at: this.#options.now() };
		this.#set(shared).catch(this.#onFailed);
		this.#replication.changed(version, shared);
	}

	/** @throws {NodeJS.ErrnoException} */
	#set({ release, at }: SharedRelease): Promise<void> {
		const isOwn = isDeepStrictEqual(this.#own.get(release.version), release);
		return this.#records.set({ release, at, isOwn });
	}

	#look(): void {
		if (this.#isClosed) return;
		this.#looking ??= this.#lookOnce()
			.catch(this.#onFailed)
			.finally(() => {
				this.#looking = undefined;
			});
		// It may take longer than the next look.
		this.#filling ??= this.#files
			.keep(this.#needed())
			.catch(this.#onFailed)
			.finally(() => {
				this.#filling = undefined;
			});
	}

	/** Looks at RELEASES_DIR, and removes from the bus the files that this gateway has no more. */
	async #lookOnce(): Promise<void> {
		await this.read();
		const until = this.#options.monotonic() - graceMs;
		const expired = this.#records.all.filter(({ removedAt = until + 1 }) => removedAt <= until);
		const replaced = this.#replaced.slice();
		const told = [...replaced, ...expired.filter(({ isOwn }) => isOwn).map(({ release }) => release)];
		const others = this.#records.all.filter((record) => !expired.includes(record));
		const inUse = digestsOf(others.map(({ release }) => release));
		await this.#files.remove([...digestsOf(told)].filter((each) => !inUse.has(each)));
		this.#replaced.splice(0, replaced.length);
		await this.#records.forget(expired);
	}

	/** SHA-256 of all files that RELEASES_DIR does not have. */
	#needed(): ReadonlySet<string> {
		return digestsOf(this.#records.all.filter(({ isOwn }) => !isOwn).map(({ release }) => release));
	}

	/** Puts a release's files into the bus. @throws {BusError} @throws {Error} if a file is missing or another one */
	async #send(release: Release): Promise<void> {
		for (const file of filesOf(release)) {
			const path = this.#files.pathOf(file.sha256) ?? (await this.#options.own.locate(file));
			if (path === undefined || !(await this.#files.put(file.sha256, path)))
				throw new Error(
					`The file ${file.path} is missing, or is not the one in the catalog; without it other gateways do not get release ${release.version}.`,
				);
		}
	}

	/** A bus that is away says so itself. */
	readonly #onFailed = (error: unknown): void => {
		if (!(error instanceof BusError)) this.#report(error instanceof Error ? error.message : String(error));
	};

	/** Once: the next look has the same problem. */
	#report(sentence: string): void {
		if (!this.#reported.has(sentence)) this.#options.onProblem(sentence);
		this.#reported.add(sentence);
	}
}

function orderOf({ at, release }: SharedRelease): readonly (number | string)[] {
	return [at, JSON.stringify(release)];
}
