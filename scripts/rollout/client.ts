/** Requests about roll-outs to a gateway. Each throws Refusal, with the gateway's sentence. */

import { type GatewayRequest, Refusal } from "../../gateway/api/client/request.js";
import type {
	Preview,
	Rollout,
	RolloutAction,
	RolloutDevice,
	RolloutHead,
} from "../../gateway/api/client/rollout.js";
import type { AskedPlan } from "../../gateway/api/client/rollout-plan.js";
import type { GatewayClient } from "../command-line/gateway-client.js";

/** The option that sets a field of the plan, by how the gateway's sentence about that field begins. */
const options: readonly (readonly [RegExp, string])[] = [
	[/^firmware\.version: /, "The version: "],
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

export class RolloutClient {
	readonly #gateway: GatewayClient;

	constructor(gateway: GatewayClient) {
		this.#gateway = gateway;
	}

	async list(): Promise<readonly RolloutHead[]> {
		return (await this.#ask<{ rollouts: readonly RolloutHead[] }>("")).rollouts;
	}

	async preview(plan: AskedPlan): Promise<Preview> {
		try {
			return await this.#ask("/preview", { method: "POST", body: plan });
		} catch (error) {
			if (!(error instanceof Refusal && error.status === 422)) throw error;
			const [field, option] = options.find(([beginning]) => beginning.test(error.message)) ?? ["", ""];
			throw new Refusal(error.status, error.message.replace(field, option));
		}
	}

	start(id: string, plan: AskedPlan): Promise<Rollout> {
		return this.#ask(`/${id}`, { method: "PUT", body: plan });
	}

	read(id: string): Promise<Rollout> {
		return this.#ask(`/${encodeURIComponent(id)}`);
	}

	async devices(id: string, statuses: readonly string[]): Promise<readonly RolloutDevice[]> {
		const path = `/${encodeURIComponent(id)}/devices?status=${statuses.join(",")}`;
		return (await this.#ask<{ devices: readonly RolloutDevice[] }>(path)).devices;
	}

	/** Retried devices also begin where failures have stopped it. */
	async act(id: string, action: RolloutAction): Promise<Rollout> {
		const next = await this.#ask<Rollout>(`/${encodeURIComponent(id)}/${action}`, { method: "POST" });
		return action === "retry" && next.pausedBecause === "failures" ? this.act(id, "resume") : next;
	}

	remove(id: string): Promise<void> {
		return this.#ask(`/${encodeURIComponent(id)}`, { method: "DELETE" });
	}

	#ask<T>(path: string, request: GatewayRequest = {}): Promise<T> {
		return this.#gateway.ask(`/api/rollouts${path}`, request);
	}
}
