/** Rollout requests to a gateway. Each throws Rejection with the gateway's message. */

import { Rejection } from "../../gateway/api/client/request.js";
import type { Preview, Rollout, RolloutAction } from "../../gateway/api/client/rollout.js";
import type { RequestedPlan } from "../../gateway/api/client/rollout-plan.js";
import type { GatewayClient } from "../command-line/gateway-client.js";

/** Option that sets a field of the plan, by the beginning of the gateway's message about it. */
const options: readonly (readonly [RegExp, string])[] = [
	[/^firmware\.version: /, "Version: "],
	[/^firmware\.channel: /, "--channel: "],
	[/^firmware\.channel/, "--channel"],
	[/^target\.tags/, "--tags"],
	[/^standing cannot be combined with target\.devices/, "--standing cannot be combined with --devices"],
	[/^target\.devices(\.\d+)?/, "--devices"],
	[/^groups\.\d+\.size/, "--canary"],
	[/^groups\.\d+\.errorThreshold(\.\w+)?/, "--canary-failures, or --max-failures,"],
	[/^groups\.\d+\.concurrency/, "--concurrency"],
	[/^groups\.\d+\.soakSeconds/, "--soak"],
	[/^maxAttempts/, "--attempts"],
	[/^startsAt/, "--starts-at"],
	[/^deadline/, "--deadline"],
	[/^window\.(from|to)/, "--window"],
	[/^window\.days(\.\d+)?/, "--days"],
];

export async function previewOf(gateway: GatewayClient, plan: RequestedPlan): Promise<Preview> {
	try {
		return await gateway.request("POST /api/rollouts/preview", { body: plan });
	} catch (error) {
		if (!(error instanceof Rejection && error.status === 422)) throw error;
		const [field, option] = options.find(([beginning]) => beginning.test(error.message)) ?? ["", ""];
		throw new Rejection(error.status, error.message.replace(field, option));
	}
}

/** Changes a rollout. A retry also resumes a rollout that was paused by failures. */
export async function act(gateway: GatewayClient, id: string, action: RolloutAction): Promise<Rollout> {
	const next = await gateway.request(`POST /api/rollouts/:id/${action}`, { params: { id } });
	return action === "retry" && next.pausedBecause === "failures" ? act(gateway, id, "resume") : next;
}
