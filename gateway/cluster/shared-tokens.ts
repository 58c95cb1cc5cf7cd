/**
 * Tokens shared by all gateways: a key of the bus, created once by compare-and-set. `tokens.json` is a copy,
 * used for rotation as on a single gateway. Tokens in environment variables are not shared.
 */

import { parseTokens, type TokenFile, type Tokens } from "../access/tokens.js";
import { type Bucket, type Bus, BusError } from "../bus.js";
import { retryUntilConnected } from "../retry-until-connected.js";
import type { Entry, Unsubscribe } from "../storage/log.js";

export interface SharedTokensOptions {
	readonly bus: Bus;
	readonly tokens: Tokens;
	readonly onProblem: (sentence: string) => void;
}

const key = "tokens";
/** Polling interval for a rotation on disk, which must reach other gateways even if nobody authenticates here. */
const lookMs = 1_000;

export class SharedTokens {
	readonly #options: SharedTokensOptions;
	#bucket: Bucket | undefined;
	/** Latest value read or written. */
	#shared: { readonly text: string; readonly revision: number } | undefined;
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
				if (name === key && entry) this.#onEntry(entry);
				else if (name === key) this.#restore();
			});
			const shared = parsed(this.#shared?.text);
			if (shared) await tokens.replace(shared);
			this.#bucket = bucket;
		});
		tokens.onRead = (file) => void this.#put(file);
		this.#timer = setInterval(() => void tokens.refresh(), lookMs).unref();
	}

	close(): void {
		this.#isClosed = true;
		clearInterval(this.#timer);
		this.#stopWatching();
	}

	#onEntry(entry: Entry): void {
		const { tokens, onProblem } = this.#options;
		if (entry.revision <= (this.#shared?.revision ?? 0)) return;
		const isNews = this.#bucket && entry.text !== this.#shared?.text;
		this.#shared = entry;
		const file = parsed(entry.text);
		if (!file) return onProblem("Ignoring invalid tokens in NATS.");
		if (!isNews) return;
		onProblem("Using the tokens of the other gateways now.");
		tokens.replace(file).catch((error: Error) => onProblem(`Writing tokens.json failed: ${error.message}`));
	}

	/**
	 * Writes the tokens again after the servers lost their disks: new tokens of another gateway would lock all
	 * devices out.
	 */
	#restore(): void {
		const { file } = this.#options.tokens;
		this.#shared = undefined;
		if (file) void this.#put(file);
	}

	/** Publishes the tokens read from the file. Of concurrent rotations, the first one written wins. */
	async #put(file: TokenFile): Promise<void> {
		const text = JSON.stringify(file);
		const { text: shared, revision = 0 } = this.#shared ?? {};
		if (!this.#bucket || text === shared) return;
		try {
			const written = await this.#bucket.set(key, text, revision);
			if (written !== undefined) this.#shared = { text, revision: written };
			else if (shared !== undefined) await this.#options.tokens.replace(parsed(shared) ?? file);
		} catch (error) {
			// The bus is disconnected, which it reports itself. The next poll retries.
			if (error instanceof BusError) this.#options.tokens.invalidate();
			else this.#options.onProblem(`Writing tokens.json failed: ${error}`);
		}
	}
}

/** @returns undefined if the value is missing or damaged */
function parsed(text: string | undefined): TokenFile | undefined {
	try {
		return text === undefined ? undefined : parseTokens(text);
	} catch {
		return undefined;
	}
}
