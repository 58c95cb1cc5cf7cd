/** The programs that are told of what happens, with a test of each; nothing where the gateway has none. */

import { useEffect, useState } from "preact/hooks";
import { ask, messageOf, Refusal } from "../../../api/client/request.js";
import { plural } from "../../../api/client/words.js";
import type { Webhook, WebhookAttempt, WebhookList } from "../../../api/webhook.js";
import { useIsLive, useMayChange } from "../app/hooks.js";
import { Problem } from "../parts/problem.js";
import { useRequest } from "../parts/use-request.js";

export function Webhooks() {
	const isLive = useIsLive();
	const [webhooks, setWebhooks] = useState<readonly Webhook[]>([]);
	const [problem, setProblem] = useState("");
	useEffect(() => {
		if (!isLive) return;
		ask<WebhookList>("api/webhooks").then(
			(list) => {
				setWebhooks(list.webhooks);
				setProblem("");
			},
			(error: unknown) => {
				// This gateway was started without WEBHOOKS_FILE.
				if (error instanceof Refusal && error.status === 404) setWebhooks([]);
				else setProblem(messageOf(error));
			},
		);
	}, [isLive]);
	if (webhooks.length === 0 && problem === "") return null;
	return (
		<section class="panel" aria-label="Webhooks">
			<h2>Webhooks</h2>
			<Problem>{problem}</Problem>
			<ul class="webhooks">
				{webhooks.map((webhook) => (
					<WebhookRow key={webhook.number} webhook={webhook} />
				))}
			</ul>
		</section>
	);
}

function WebhookRow({ webhook: { number, origin, events, after, waiting, latest } }: { webhook: Webhook }) {
	const mayChange = useMayChange();
	const { run, isBusy, problem } = useRequest();
	const [tested, setTested] = useState<WebhookAttempt>();
	const test = async () => {
		setTested(undefined);
		await run(async () => {
			setTested(await ask<WebhookAttempt>(`api/webhooks/${number}/test`, { method: "POST" }));
		});
	};
	const facts = [
		events
			.map((event) => (event === "away" ? `away for ${after} min` : event.replaceAll("_", " ")))
			.join(", "),
		waiting > 0 && `${plural(waiting, "event")} not delivered yet`,
		latest && `latest ${attemptText(latest)}`,
	];
	const isTaken = tested !== undefined && isDelivered(tested);
	return (
		<li>
			<div>
				<strong>{origin}</strong>
				<p class="hint">{facts.filter(Boolean).join(" · ")}</p>
				<p class="good" role="status">
					{isTaken && `The test was ${attemptText(tested)}.`}
				</p>
				<Problem>{tested && !isTaken ? `The test was ${attemptText(tested)}.` : problem}</Problem>
			</div>
			<button
				type="button"
				class="small"
				aria-label={`Test webhook ${number}, ${origin}`}
				disabled={!mayChange || isBusy}
				onClick={() => void test()}
			>
				Test
			</button>
		</li>
	);
}

function isDelivered({ status }: WebhookAttempt): boolean {
	return status !== null && status >= 200 && status < 300;
}

function attemptText(attempt: WebhookAttempt): string {
	const { status, problem } = attempt;
	if (status === null) return `not answered: ${problem}`;
	return isDelivered(attempt) ? `taken (${status})` : `refused (${status})`;
}
