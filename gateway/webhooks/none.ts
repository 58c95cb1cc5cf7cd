/** Routes of a gateway without WEBHOOKS_FILE, so that the page need not know whether it is set. */

import { webhookRoutes } from "../api/webhook.js";
import type { CreateExtension } from "../extension.js";
import { serve } from "../http/routes.js";
import { RequestError } from "../problem.js";

export const noWebhooks: CreateExtension = () => ({
	routes: serve(webhookRoutes, {
		"GET /api/webhooks": () => ({ webhooks: [] }),
		"POST /api/webhooks/:number/test": ({ params: { number } }) => {
			throw unknownWebhook(number);
		},
	}),
});

export function unknownWebhook(number: string): RequestError {
	return new RequestError(404, `Webhook ${number} not found. GET /api/webhooks lists all.`);
}
