/** Webhooks, each with a test button; renders nothing without webhooks. */

import { useState } from "preact/hooks";
import { plural } from "../../../api/client/words.js";
import type { Webhook, WebhookAttempt } from "../../../api/webhook.js";
import { request, requestIfFound } from "../app/gateway.js";
import { useResource } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { Item } from "../parts/item.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";

export function Webhooks() {
	// Not found after webhooks were removed from the gateway.
	const { value, problem } = useResource(() => requestIfFound("GET /api/webhooks"));
	const webhooks = value?.webhooks ?? [];
	if (webhooks.length === 0 && problem === "") return null;
	return (
		<Panel title="Webhooks">
			<Problem>{problem}</Problem>
			<ul class="listed">
				{webhooks.map((webhook) => (
					<WebhookRow key={webhook.number} webhook={webhook} />
				))}
			</ul>
		</Panel>
	);
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
	const { number, origin, events, tags, after, ended, waiting, latest } = webhook;
	const [result, setResult] = useState("");
	const test = async () => {
		setResult("");
		const attempt = await request("POST /api/webhooks/:number/test", {
			params: { number: String(number) },
		});
		const text = `Test ${attemptText(attempt)}.`;
		if (!isDelivered(attempt)) throw new Error(text);
		setResult(text);
	};
	const facts = [
		events
			.map((event) => (event === "away" ? `offline for ${after} min` : event.replaceAll("_", " ")))
			.join(", "),
		tags !== null && `devices with ${tags}`,
		ended && "disabled by response 410",
		waiting > 0 && `${plural(waiting, "event")} pending`,
		latest && `latest ${attemptText(latest)}`,
	];
	return (
		<Item
			title={origin}
			facts={facts}
			actions={
				<Button look="small" label={`Test webhook ${number}, ${origin}`} isChange onClick={test}>
					Test
				</Button>
			}
		>
			<p class="good" role="status">
				{result}
			</p>
		</Item>
	);
}

function isDelivered({ status }: WebhookAttempt): boolean {
	return status !== null && status >= 200 && status < 300;
}

function attemptText(attempt: WebhookAttempt): string {
	const { status, problem } = attempt;
	if (status === null) return `failed: ${problem}`;
	return isDelivered(attempt) ? `delivered (${status})` : `rejected (${status})`;
}
