import type { Plan, Rollout } from "../../../gateway/api/rollout.js";
import { queued } from "../../../gateway/rollouts/device-step.js";
import { firstHead } from "../../../gateway/rollouts/machine.js";
import { parsePlan } from "../../../gateway/rollouts/plan.js";

/** Rollout of 1.4.0 to queued devices in one group. */
export function sampleRollout(deviceIds: readonly string[], change: Partial<Plan> = {}): Rollout {
	const asked = { firmware: { version: "1.4.0" }, target: { model: "DEV-1" }, groups: [{ size: "rest" }] };
	const images = [{ sha256: "1".repeat(64) }, { sha256: "2".repeat(64) }];
	const firmware = { version: "1.4.0", source: "release", images } as const;
	const plan = { ...parsePlan(asked, () => deviceIds.length, 0), firmware, ...change };
	const devices = new Map(deviceIds.map((id) => [id, queued(id, 0)]));
	return { id: "autumn", createdAt: 0, asked, plan, head: firstHead, devices };
}
