import type { Rollout } from "../../../gateway/api/rollout.js";
import { queued } from "../../../gateway/rollouts/device-step.js";
import { firstHead } from "../../../gateway/rollouts/machine.js";

/** Rollout of 1.4.0 to one queued device. */
export function sampleRollout(deviceId: string): Rollout {
	const group = {
		size: "rest",
		concurrency: 1,
		errorThreshold: { percent: 10, minExecuted: 1 },
		approval: false,
		soakSeconds: 0,
	};
	const images = [{ sha256: "1".repeat(64) }, { sha256: "2".repeat(64) }];
	return {
		id: "autumn",
		createdAt: 0,
		asked: {},
		plan: {
			firmware: { version: "1.4.0", source: "release", images },
			target: { devices: [deviceId] },
			standing: false,
			groups: [group],
			maxAttempts: 1,
			allowDowngrade: false,
			startsAt: "2026-01-01T00:00:00Z",
			deadline: "2027-01-01T00:00:00Z",
		},
		head: firstHead,
		devices: new Map([[deviceId, queued(deviceId, 0)]]),
	};
}
