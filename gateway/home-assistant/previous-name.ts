/** The name under which this gateway published before, kept in its data folder: what the broker still has of it is removed. */

import { join } from "node:path";
import { parseJson } from "../api/json.js";
import type { Core } from "../extension.js";
import { ifThere, writeFileAtomic } from "../storage/atomic-file.js";
import type { Broker } from "./broker.js";
import { baseOf, gatewayTopic } from "./discovery.js";

export interface PreviousNameOptions {
	readonly core: Pick<Core, "disk" | "settings">;
	/** Of what Home Assistant reads. */
	readonly prefix: string;
	/** As it is now. */
	readonly name: string;
}

export class PreviousName {
	readonly #options: PreviousNameOptions;
	/** As it is kept; undefined: none. */
	#kept: string | undefined;
	/** Retained below its base, by topic. */
	readonly #texts = new Map<string, string>();

	constructor(options: PreviousNameOptions) {
		this.#options = options;
	}

	/** @throws {NodeJS.ErrnoException} */
	async open(): Promise<void> {
		const text = await ifThere(this.#options.core.disk.readFile(this.#path, "utf8"));
		const kept = parseJson(text ?? "null");
		this.#kept = typeof kept === "string" ? kept : undefined;
	}

	/** Of its topics; undefined: it is the same as now, or there was none. */
	get base(): string | undefined {
		return this.#kept === undefined || this.#kept === this.#options.name ? undefined : baseOf(this.#kept);
	}

	/** Call it with each retained message. @returns whether it is of this name */
	take(topic: string, text: string): boolean {
		const isOfIt = this.base !== undefined && topic.startsWith(`${this.base}/`);
		if (isOfIt) this.#texts.set(topic, text);
		return isOfIt;
	}

	/** Removes what was retained, unless another gateway has this name by now. @throws {NodeJS.ErrnoException} */
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
