/** What `GET /api/webhooks` and `POST /api/webhooks/<number>/test` answer. */

/** One request to a webhook. `status` is null without an answer; then `problem` says why. */
export interface WebhookAttempt {
	readonly at: string;
	readonly status: number | null;
	readonly problem: string | null;
}

export interface Webhook {
	/** Its place in WEBHOOKS_FILE, from 1. */
	readonly number: number;
	/** Without the rest of the address, which is often a secret. */
	readonly origin: string;
	readonly events: readonly string[];
	/** Of events of devices it gets those of the devices whose tags match; null: of all. */
	readonly tags: string | null;
	/** Minutes without a device until it is away. */
	readonly after: number;
	/** Its receiver has answered 410: it gets nothing more until the gateway is started again. */
	readonly ended: boolean;
	/** Number of events that are not delivered yet. */
	readonly waiting: number;
	/** Null: none since the gateway's start. */
	readonly latest: WebhookAttempt | null;
}

export interface WebhookList {
	readonly webhooks: readonly Webhook[];
}
