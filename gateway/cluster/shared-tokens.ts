/**
 * Tokens shared by all gateways: a key of the bus. `tokens.json` is a copy, used for changes as on a single gateway. Changes of two
 * gateways at the same time are merged. Tokens in environment variables are not shared.
 */

import { isDeepStrictEqual } from "node:util";
import { maxNamed, parseTokens, type Role, roles, type TokenFile, type Tokens } from "../access/tokens.js";
import { type Bucket, type Bus, BusError } from "../bus.js";
import { retryUntilConnected } from "../retry-until-connected.js";
import type { Entry, Unsubscribe } from "../storage/log.js";
import { Queue } from "../storage/queue.js";

export interface SharedTokensOptions {
	readonly bus: Bus;
	readonly tokens: Tokens;
	readonly onProblem: (sentence: string) => void;
}

type Names = NonNullable<TokenFile["named"]>;

const key = "tokens";
/** Polling interval for a rotation on disk, which must reach other gateways even if nobody authenticates here. */
const lookMs = 1_000;

export class SharedTokens {
	readonly #options: SharedTokensOptions;
	readonly #queue = new Queue();
	#bucket: Bucket | undefined;
	/** Latest value of the bus that is not merged yet. */
	#latest: Entry | undefined;
	/** Revision and content that the file and the bus last had in common. */
	#revision = 0;
	#base: TokenFile | undefined;
	#problem: string | undefined;
	#stopWatching: Unsubscribe = () => {};
	#timer: NodeJS.Timeout | undefined;
	#isClosed = false;

	constructor(options: SharedTokensOptions) {
		this.#options = options;
	}

	/** Must be called before the tokens are opened. Waits for the bus, as devices could not connect with other tokens. */
	async open(): Promise<void> {
		const { bus, tokens, onProblem } = this.#options;
		if (tokens.areFromEnvironment) return;
		await retryUntilConnected({ isClosed: () => this.#isClosed, onProblem }, async () => {
			const bucket = await bus.bucket("gw-state");
			const own = await tokens.readFile();
			const isFirst = !(await bucket.get(key));
			if (isFirst) await bucket.set(key, JSON.stringify(own ?? (await tokens.generate())), 0);
			this.#stopWatching = await bucket.watch((name, entry) => {
				if (name !== key) return;
				this.#latest = entry;
				// Stored again after the servers lost their disks: new tokens of another gateway would lock all devices out.
				if (!entry) this.#revision = 0;
				void this.#synchronize();
			});
			await this.#queue.add(() => this.#merge());
			this.#bucket = bucket;
		});
		tokens.onRead = () => void this.#synchronize();
		this.#timer = setInterval(() => void this.#synchronize(), lookMs).unref();
	}

	close(): void {
		this.#isClosed = true;
		clearInterval(this.#timer);
		this.#stopWatching();
	}

	/** Merges the value of the bus into the file, and publishes other changes of the file. A failure is retried at the next poll. */
	#synchronize(): Promise<void> {
		return this.#queue.add(async () => {
			if (!this.#bucket || this.#isClosed) return;
			try {
				await this.#merge();
				await this.#options.tokens.refresh();
				await this.#publish(this.#bucket);
				this.#problem = undefined;
			} catch (error) {
				// The bus reports itself that it is disconnected.
				if (!(error instanceof BusError)) this.#report(`Writing tokens.json failed: ${error}`);
			}
		});
	}

	/** @throws {NodeJS.ErrnoException} */
	async #merge(): Promise<void> {
		const latest = this.#latest;
		if (!latest || latest.revision <= this.#revision) return;
		const other = parseTokens(latest.text);
		if (!other) this.#report("Ignoring invalid tokens in NATS.");
		else {
			await this.#options.tokens.change((own) => merged(this.#base, own, other));
			if (this.#base && !isDeepStrictEqual(this.#base, other))
				this.#options.onProblem("Using the tokens of the other gateways now.");
			this.#base = other;
		}
		this.#revision = latest.revision;
	}

	/** Writes the file to the bus. If another gateway wrote first, the next call does it, after the merge. @throws {BusError} */
	async #publish(bucket: Bucket): Promise<void> {
		const { file } = this.#options.tokens;
		if (!file || (this.#revision > 0 && isDeepStrictEqual(file, this.#base))) return;
		const written = await bucket.set(key, JSON.stringify(file), this.#revision);
		if (written === undefined) return;
		this.#revision = written;
		this.#base = file;
	}

	#report(problem: string): void {
		if (problem !== this.#problem) this.#options.onProblem(problem);
		this.#problem = problem;
	}
}

/** Applies the changes from `base` to `own` to the tokens of the other gateways, whose rotation of the same token has precedence. */
function merged(base: TokenFile | undefined, own: TokenFile | undefined, other: TokenFile): TokenFile {
	if (own && isDeepStrictEqual(own, other)) return own;
	if (!base || !own || isDeepStrictEqual(own, base)) return other;
	if (isDeepStrictEqual(other, base)) return own;
	const isSame = (role: Role, file: TokenFile) =>
		file[role] === base[role] && file.previous?.[role] === base.previous?.[role];
	const sourceOf = (role: Role) => (isSame(role, other) ? own : other);
	const previous = roles.flatMap((role) => {
		const token = sourceOf(role).previous?.[role];
		return token === undefined ? [] : [[role, token]];
	});
	const { previous: _, ...rest } = other;
	return {
		...rest,
		device: sourceOf("device").device,
		monitor: sourceOf("monitor").monitor,
		...(previous.length > 0 && { previous: Object.fromEntries(previous) }),
		named: mergedNames(base.named, own.named, other.named),
	};
}

/** Applies added, changed and removed named tokens. */
function mergedNames(base: Names = [], own: Names = [], other: Names = []): Names {
	const find = (names: Names, token: string) => names.find((named) => named.token === token);
	const kept = other.flatMap((theirs) => {
		const ours = find(own, theirs.token);
		const previous = find(base, theirs.token);
		if (!previous || isDeepStrictEqual(ours, previous)) return [theirs];
		return ours ? [ours] : [];
	});
	const added = own.filter(({ token }) => !find(base, token) && !find(other, token));
	return [...kept, ...added].slice(0, maxNamed);
}
