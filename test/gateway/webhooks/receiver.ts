/** Webhook receivers on free ports of 127.0.0.1, and gateways with such receivers. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TestContext } from "node:test";
import { Webhook } from "standardwebhooks";
import { webhookEvents } from "../../../gateway/api/webhook.js";
import type { Core, CreateExtension } from "../../../gateway/extension.js";
import { extensions } from "../../../gateway/extensions.js";
import { createWebhooks, sendTo } from "../../../gateway/webhooks/extension.js";
import type { Hook } from "../../../gateway/webhooks/hooks.js";
import { within } from "../../support/eventually.js";
import { listen } from "../../support/ports.js";

export const secret = "secret-of-the-receiver";
/** Verifier of the Standard Webhooks library. */
const webhook = new Webhook(secret, { format: "raw" });

export interface Received {
	readonly id: string;
	readonly event: string;
	readonly time: string;
	readonly text: string;
	readonly [name: string]: unknown;
}

/** Response: a status immediately, a redirect, or none. */
export type Manner = number | "redirects" | "waits";

export class Receiver {
	manner: Manner = 204;
	/** Whether it closes each connection after one response without announcing it. */
	closes = false;
	readonly #answered = new WeakSet<Socket>();
	url = "";
	/** Received events in order. */
	readonly received: Received[] = [];
	/** Headers and body of each request. */
	readonly signed: { readonly headers: Record<string, string>; readonly body: string }[] = [];
	/** Invalid signatures of a hook with `secret`. */
	readonly forged: string[] = [];
	#arrived = () => {};
	readonly #server = createServer((request, response) => void this.#answer(request, response));

	async listen(t: TestContext): Promise<this> {
		this.url = `http://127.0.0.1:${await listen(t, this.#server)}/a/secret-path`;
		return this;
	}

	hook(hook: Partial<Hook> = {}): Hook {
		return {
			id: `0123456789abcde${this.url.length % 10}`,
			url: this.url,
			events: [...webhookEvents],
			secrets: [secret],
			after: 5,
			...hook,
		};
	}

	/** Resolves with the first `count` received. */
	async until(count: number): Promise<readonly Received[]> {
		while (this.received.length < count) {
			const arrived = new Promise<void>((resolve) => {
				this.#arrived = resolve;
			});
			await within(arrived, `event ${this.received.length + 1} of ${count}`);
		}
		return this.received.slice(0, count);
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		if (this.closes && this.#answered.has(request.socket)) return void request.socket.destroy();
		this.#answered.add(request.socket);
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk);
		const body = Buffer.concat(chunks).toString();
		const event: Received = JSON.parse(body);
		const header = (name: string) => String(request.headers[name]);
		const signedAt = new Date(Number(header("webhook-timestamp")) * 1000);
		if (header("webhook-signature") !== webhook.sign(event.id, signedAt, body))
			this.forged.push(header("webhook-signature"));
		const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
		this.signed.push({ headers: Object.fromEntries(names.map((name) => [name, header(name)])), body });
		this.received.push(event);
		if (this.manner === "redirects") response.writeHead(307, { Location: `${this.url}/elsewhere` }).end();
		else if (this.manner !== "waits") response.writeHead(this.manner).end();
		this.#arrived();
	}
}

/** Interval of checks for due events. */
export const checkMs = 10;

/** Options of a gateway with these webhooks and a short polling interval. @param cores receives its core */
export function withHooks(hooks: readonly Hook[], cores: Core[] = []) {
	const webhooks: CreateExtension = (core) => {
		cores.push(core);
		return sendTo(core, hooks, checkMs);
	};
	return { extensions: [...extensions.filter((extension) => extension !== createWebhooks), webhooks] };
}
