/** Requests about announcements to a gateway. Each throws Refusal, with the gateway's sentence. */

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

	/** Sends the WAV file. @returns what plays the content @throws {Refusal} */
	async prepare(content: Content): Promise<object> {
		if ("text" in content) return { text: content.text };
		const path = `/api/sounds?name=${encodeURIComponent(content.name)}&temporary=true`;
		const { id } = await this.#gateway.ask<Sound>(path, { method: "POST", file: content.wav });
		return { sound: id };
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
