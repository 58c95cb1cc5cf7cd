/**
 * Latest update of each of the last 16 sounds. It makes `play_sound` idempotent: a gateway that repeats the command after
 * a crash gets the same answer, and the sound is not played twice. The result of the last sound played survives a restart.
 */

import { soundUpdate } from "../protocol/messages.js";
import { type Infer, parseAs } from "../protocol/schema.js";
import type { Settings } from "../settings.js";

export type SoundUpdate = Infer<typeof soundUpdate>;

const size = 16;

type Store = Pick<Settings, "remembered" | "remember" | "flush">;

export class Results {
	readonly #settings: Store;
	/** JSON, the oldest sound first; a string takes less heap than an object. */
	readonly #texts: string[] = [];
	/** Id of the sound whose result is in flash. */
	#storedId: string | undefined;

	constructor(settings: Store) {
		this.#settings = settings;
		const text = settings.remembered("sound");
		const update = parseAs(soundUpdate, text);
		if (!update) return;
		this.#texts.push(text);
		this.#storedId = update.id;
	}

	find(id: string): SoundUpdate | undefined {
		return parseAs(soundUpdate, this.#texts.find((text) => isOf(text, id)) ?? "");
	}

	/** Replaces the previous update of the sound. */
	keep({ id, state, ...rest }: SoundUpdate): void {
		// The id comes first: isOf relies on it.
		const text = JSON.stringify({ id, state, ...rest });
		const known = this.#texts.findIndex((text) => isOf(text, id));
		if (known >= 0) this.#texts[known] = text;
		else if (this.#texts.push(text) > size) this.#texts.shift();
		if (state === "playing" || state === "resumed") {
			this.#storedId = id;
			// Result in case power fails before the end.
			this.#store(JSON.stringify({ id, state: "stopped", reason: "restart" }));
		} else if (id === this.#storedId && state !== "waiting" && state !== "ready") this.#store(text);
	}

	/** Stores immediately: two writes per sound cause one sector erasure every 18 sounds. */
	#store(text: string): void {
		this.#settings.remember("sound", text);
		this.#settings.flush();
	}
}

function isOf(text: string, id: string): boolean {
	return text.startsWith(`{"id":"${id}",`);
}
