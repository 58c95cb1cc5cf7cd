/**
 * The tokens, the same on all gateways: in a key of the bus, made once by compare and set. `tokens.json` is a copy, in which
 * a rotation is made as on a gateway that is alone. Those given by the environment are left alone.
 */

import { parseTokens, type TokenFile, type Tokens } from "../access/tokens.js";
import { type Bucket, type Bus, BusError } from "../bus.js";
import type { Entry, Unsubscribe } from "../storage/log.js";
import { whenReached } from "../when-reached.js";

export interface SharedTokensOptions {
	readonly bus: Bus;
	readonly tokens: Tokens;
	readonly onProblem: (sentence: string) => void;
}

const key = "tokens";
/** A rotation on disk reaches other gateways also if no one shows a token here. */
const lookMs = 1_000;

export class SharedTokens {
	readonly #options: SharedTokensOptions;
	#bucket: Bucket | undefined;
	/** As read, or written here. */
	#shared: { readonly text: string; readonly revision: number } | undefined;
	#stopWatching: Unsubscribe = () => {};
	#timer: NodeJS.Timeout | undefined;
	#isClosed = false;

	constructor(options: SharedTokensOptions) {
		this.#options = options;
	}

	/** To be called before the tokens are opened. Waits for the bus: with other tokens no device could connect. */
	async open(): Promise<void> {
		const { bus, tokens, onProblem } = this.#options;
		if (tokens.areGiven) return;
		await whenReached({ isClosed: () => this.#isClosed, onProblem }, async () => {
			const bucket = await bus.bucket("gw-state");
			const own = await tokens.readFile();
			const isFirst = !(await bucket.get(key));
			if (isFirst) await bucket.set(key, JSON.stringify(own ?? (await tokens.make())), 0);
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
		if (!file) return onProblem("The tokens in NATS are not understood, and are left out.");
		if (!isNews) return;
		onProblem("The tokens in use are now those of the other gateways.");
		tokens
			.replace(file)
			.catch((error: Error) => onProblem(`tokens.json cannot be written: ${error.message}`));
	}

	/** The servers have lost their disks: with other tokens a new gateway would lock all devices out. */
	#restore(): void {
		const { file } = this.#options.tokens;
		this.#shared = undefined;
		if (file) void this.#put(file);
	}

	/** To be called when the file was read: of a rotation here and one elsewhere, the one that is written first counts. */
	async #put(file: TokenFile): Promise<void> {
		const text = JSON.stringify(file);
		const { text: shared, revision = 0 } = this.#shared ?? {};
		if (!this.#bucket || text === shared) return;
		try {
			const written = await this.#bucket.set(key, text, revision);
			if (written !== undefined) this.#shared = { text, revision: written };
			else if (shared !== undefined) await this.#options.tokens.replace(parsed(shared) ?? file);
		} catch (error) {
			// The bus is away, and says so itself; the next look tries again.
			if (error instanceof BusError) this.#options.tokens.forgetState();
			else this.#options.onProblem(`tokens.json cannot be written: ${error}`);
		}
	}
}

/** @returns undefined if there is none, or it is damaged */
function parsed(text: string | undefined): TokenFile | undefined {
	try {
		return text === undefined ? undefined : parseTokens(text);
	} catch {
		return undefined;
	}
}
