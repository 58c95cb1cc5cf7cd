/** Requests about announcements to a gateway. Each throws Refusal, with the gateway's sentence. */

import { createHash } from "node:crypto";
import type { Announcement, Sound } from "../../gateway/api/announcement.js";
import type { GatewayClient } from "../command-line/gateway-client.js";

/** A WAV file as devices play it, or a text. */
export type Content =
	| { readonly wav: Uint8Array<ArrayBuffer>; readonly name: string }
	| { readonly text: string };

export class AnnouncementClient {
	readonly #gateway: GatewayClient;

	constructor(gateway: GatewayClient) {
		this.#gateway = gateway;
	}

	/** Keeps the WAV file for as long as it plays, unless it was kept before. @throws {Refusal} */
	async prepare(content: Content): Promise<{ readonly source: object; readonly end: () => Promise<void> }> {
		if ("text" in content) return { source: { text: content.text }, end: async () => {} };
		const id = createHash("sha256").update(content.wav).digest("hex");
		const { sounds } = await this.#gateway.ask<{ readonly sounds: readonly Sound[] }>("/api/sounds");
		const isKnown = sounds.some((sound) => sound.id === id);
		if (!isKnown)
			await this.#gateway.ask(`/api/sounds?name=${encodeURIComponent(content.name)}`, {
				method: "POST",
				file: content.wav,
			});
		const end = async () => {
			if (!isKnown) await this.#gateway.ask(`/api/sounds/${id}`, { method: "DELETE" });
		};
		return { source: { sound: id }, end };
	}

	/** @throws {Refusal} */
	async begin(asked: object): Promise<string> {
		const { id } = await this.#gateway.ask<{ readonly id: string }>("/api/announcements", {
			method: "POST",
			body: asked,
		});
		return id;
	}

	find(id: string): Promise<Announcement> {
		return this.#gateway.ask(`/api/announcements/${id}`);
	}

	stop(id: string): Promise<void> {
		return this.#gateway.ask(`/api/announcements/${id}`, { method: "DELETE" });
	}
}
