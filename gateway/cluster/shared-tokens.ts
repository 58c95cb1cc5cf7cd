/**
 * The tokens in `tokens.json`, the same on all gateways: those of the first one, and each rotation. Those given by the
 * environment are left alone.
 */

import { parseTokens, type TokenFile, type Tokens } from "../access/tokens.js";
import type { Bus } from "../bus.js";
import { Replication } from "./replication.js";

export interface SharedTokensOptions {
	readonly bus: Bus;
	readonly tokens: Tokens;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	readonly onProblem: (sentence: string) => void;
}

const key = "tokens";
/** A rotation on disk reaches other gateways also if no one shows a token here. */
const lookMs = 1_000;

export class SharedTokens {
	readonly #tokens: Tokens;
	readonly #replication: Replication<TokenFile>;
	#timer: NodeJS.Timeout | undefined;

	constructor({ bus, tokens, now, onProblem }: SharedTokensOptions) {
		this.#tokens = tokens;
		this.#replication = new Replication({
			bus,
			bucket: "gw-state",
			key,
			own: {
				read: async () => tokens.file,
				save: (_key, file) => tokens.replace(file),
				remove: async () => {},
			},
			format: (file) => JSON.stringify(file),
			parse: parseTokens,
			changedAt: ({ changedAt = 0 }) => changedAt,
			merge: (theirs, mine) => ((mine.changedAt ?? 0) > (theirs.changedAt ?? 0) ? mine : theirs),
			onRecord: () => onProblem("The tokens in use are now those of the other gateways."),
			now,
			onProblem,
		});
	}

	/** To be called once the tokens are open. */
	start(): void {
		const { file } = this.#tokens;
		if (!file) return;
		this.#replication.has(key, file);
		this.#replication.start();
		this.#timer = setInterval(() => void this.#tokens.refresh(), lookMs).unref();
	}

	/** To be called when the file was read. */
	changed(file: TokenFile): void {
		if (this.#timer) this.#replication.changed(key, file);
	}

	async close(): Promise<void> {
		clearInterval(this.#timer);
		if (this.#timer) await this.#replication.close();
	}
}
