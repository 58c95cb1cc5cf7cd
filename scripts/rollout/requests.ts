/** Requests about rollouts to a gateway. Each throws Rejection, with the gateway's sentence. */

import { Rejection } from "../../gateway/api/client/request.js";
import type { Preview, Rollout, RolloutAction } from "../../gateway/api/client/rollout.js";
import type { AskedPlan } from "../../gateway/api/client/rollout-plan.js";
import type { GatewayClient } from "../command-line/gateway-client.js";

/** The option that sets a field of the plan, by how the gateway's sentence about that field begins. */
const options: readonly (readonly [RegExp, string])[] = [
	[/^firmware\.version: /, "The version: "],
	[/^firmware\.channel: /, "--channel: "],
	[/^firmware\.channel/, "--channel"],
	[/^target\.tags/, "--tags"],
	[/^standing does not go with target\.devices/, "--standing does not go with --devices"],
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

export async function previewOf(gateway: GatewayClient, plan: AskedPlan): Promise<Preview> {
	try {
		return await gateway.request("POST /api/rollouts/preview", { body: plan });
	} catch (error) {
		if (!(error instanceof Rejection && error.status === 422)) throw error;
		const [field, option] = options.find(([beginning]) => beginning.test(error.message)) ?? ["", ""];
		throw new Rejection(error.status, error.message.replace(field, option));
	}
}

/** Retried devices also begin where failures have stopped it. */
export async function act(gateway: GatewayClient, id: string, action: RolloutAction): Promise<Rollout> {
	const next = await gateway.request(`POST /api/rollouts/:id/${action}`, { params: { id } });
	return action === "retry" && next.pausedBecause === "failures" ? act(gateway, id, "resume") : next;
}
