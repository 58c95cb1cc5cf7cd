/** Webhooks: notify other programs about devices, rollouts and the disk. */

import { webhookRoutes } from "../api/webhook.js";
import type { Core, Extension } from "../extension.js";
import { type Route, serve } from "../http/routes.js";
import { RequestError } from "../problem.js";
import { setting } from "../setting.js";
import { type Hook, readHooks } from "./hooks.js";
import { endedReason, Outbox } from "./outbox.js";
import { Watch } from "./watch.js";

const tickMs = 5_000;

/** File with the receivers of events (hooks.ts); undefined: none. */
const webhooksFile = setting(
	"WEBHOOKS_FILE",
	"JSON file with the webhooks; see [Webhooks](webhooks/README.md)",
	(text) => text,
);

/** @throws {StartError} if the file is invalid */
export function createWebhooks(core: Core): Extension {
	const file = webhooksFile.read(core.environment);
	// Has its routes without a file too, so that the page need not know whether it is set.
	if (file === undefined) return { routes: createRoutes([]) };
	return { ...sendTo(core, readHooks(file)), services: { webhooksPath: file } };
}

createWebhooks.settings = [webhooksFile];

/** @param everyMs interval of checks for due events */
export function sendTo(core: Core, hooks: readonly Hook[], everyMs = tickMs): Extension {
	const outboxes = hooks.map((hook) => new Outbox(hook, core));
	const watch = new Watch(core, outboxes);
	core.metrics.watch(
		"gateway_ended_webhooks",
		"Webhooks whose receivers answered 410",
		() => outboxes.filter(({ hasEnded }) => hasEnded).length,
	);
	let timer: NodeJS.Timeout | undefined;
	const tick = async () => {
		await watch.tick().catch((error: unknown) => core.log.error({ err: error }, "webhooks"));
		for (const outbox of outboxes) outbox.deliver();
	};
	return {
		routes: createRoutes(outboxes),
		listeners: [watch.listeners],
		open: async () => {
			for (const outbox of outboxes) await outbox.open();
			watch.open();
			timer = setInterval(() => void tick(), everyMs).unref();
		},
		close: async () => {
			clearInterval(timer);
			for (const outbox of outboxes) outbox.close();
		},
	};
}

function createRoutes(outboxes: readonly Outbox[]): readonly Route[] {
	return serve(webhookRoutes, {
		"GET /api/webhooks": () => ({
			webhooks: outboxes.map(
				({ hook: { url, events, tags, after }, hasEnded: ended, waiting, latest = null }, index) => {
					// The remainder of a URL is often secret.
					const head = { number: index + 1, origin: new URL(url).origin, events, tags: tags?.text ?? null };
					return { ...head, after, ended, waiting, latest };
				},
			),
		}),
		"POST /api/webhooks/:number/test": ({ params: { number } }) => {
			const outbox = outboxes.find((_, index) => String(index + 1) === number);
			if (!outbox) throw new RequestError(404, `Webhook ${number} not found. GET /api/webhooks lists all.`);
			if (outbox.hasEnded) throw new RequestError(409, `Webhook ${number} has ended. ${endedReason}`);
			return outbox.test();
		},
	});
}
