/** Previous name of this gateway, stored in its data folder, and removal of its retained messages from the broker. */

import { join } from "node:path";
import { parseJson } from "../api/json.js";
import type { Core } from "../extension.js";
import { ifExists, writeFileAtomic } from "../storage/atomic-file.js";
import type { Broker } from "./broker.js";
import { baseOf, gatewayTopic } from "./discovery.js";

export interface PreviousNameOptions {
	readonly core: Pick<Core, "disk" | "settings">;
	/** Discovery prefix. */
	readonly prefix: string;
	/** Current name. */
	readonly name: string;
}

export class PreviousName {
	readonly #options: PreviousNameOptions;
	/** Stored name; undefined: none. */
	#kept: string | undefined;
	/** Retained messages below its base topic. */
	readonly #texts = new Map<string, string>();

	constructor(options: PreviousNameOptions) {
		this.#options = options;
	}

	/** @throws {NodeJS.ErrnoException} */
	async open(): Promise<void> {
		const text = await ifExists(this.#options.core.disk.readFile(this.#path, "utf8"));
		const kept = parseJson(text ?? "null");
		this.#kept = typeof kept === "string" ? kept : undefined;
	}

	/** Base topic of the previous name; undefined if there is none or it is unchanged. */
	get base(): string | undefined {
		return this.#kept === undefined || this.#kept === this.#options.name ? undefined : baseOf(this.#kept);
	}

	/**
	 * Must be called with each retained message.
	 * @returns whether it belongs to the previous name
	 */
	take(topic: string, text: string): boolean {
		const hasPreviousBase = this.base !== undefined && topic.startsWith(`${this.base}/`);
		if (hasPreviousBase) this.#texts.set(topic, text);
		return hasPreviousBase;
	}

	/**
	 * Removes its retained messages, unless another gateway now has this name.
	 * @throws {NodeJS.ErrnoException}
	 */
	async remove(broker: Pick<Broker, "retain">): Promise<void> {
		const { core, prefix, name } = this.#options;
		if (this.#kept === name) return;
		const isFree = this.#texts.get(`${this.base}/status`) !== "online";
		if (this.#kept !== undefined && isFree)
			for (const topic of [gatewayTopic(prefix, this.#kept), ...this.#texts.keys()])
				await broker.retain(topic, "");
		await writeFileAtomic(core.disk, this.#path, `${JSON.stringify(name)}\n`);
		this.#kept = name;
	}

	get #path(): string {
		return join(this.#options.core.settings.dataDir, "mqtt-name.json");
	}
}
