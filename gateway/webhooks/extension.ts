/** Webhooks: notify other programs about devices, rollouts and the disk. Loaded only with WEBHOOKS_FILE. */

import { webhookRoutes } from "../api/webhook.js";
import type { Core, Extension, LoadedExtensions } from "../extension.js";
import { type Route, serve } from "../http/routes.js";
import { RequestError } from "../problem.js";
import { webhooksPath } from "../services/configuration.js";
import { type Hook, readHooks } from "./hooks.js";
import { noWebhooks, unknownWebhook } from "./none.js";
import { endedReason, Outbox } from "./outbox.js";
import { webhooksFile } from "./settings.js";
import { Watch } from "./watch.js";

const tickMs = 5_000;

/** @throws {StartError} if the file is invalid */
export function withWebhooks(joined: LoadedExtensions): LoadedExtensions {
	const file = webhooksFile.read(joined.environment ?? {});
	if (file === undefined) throw new TypeError("WEBHOOKS_FILE is not set.");
	const hooks = readHooks(file);
	const create = (core: Core): Extension => {
		return { ...createWebhooks(core, hooks), services: [webhooksPath.provide(file)] };
	};
	const others = joined.extensions.filter((candidate) => candidate !== noWebhooks);
	return { ...joined, extensions: [...others, create] };
}

/** @param everyMs interval of checks for due events */
export function createWebhooks(core: Core, hooks: readonly Hook[], everyMs = tickMs): Extension {
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
			for (const outbox of outboxes) await outbox.close();
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
			if (!outbox) throw unknownWebhook(number);
			if (outbox.hasEnded) throw new RequestError(409, `Webhook ${number} has ended. ${endedReason}`);
			return outbox.test();
		},
	});
}
