/** Events that the parts of a gateway emit for others. */

import type { Crash } from "../device/protocol/messages.js";
import type { Change } from "./access/access.js";
import type { FrameOf } from "./api/frames.js";
import type { Device } from "./sessions/device.js";

export type GatewayEvent =
	/** A person has changed something. */
	| { readonly type: "change"; readonly change: Change }
	/** A crash of a device of this gateway was stored. */
	| { readonly type: "crash"; readonly device: Device; readonly crash: Crash }
	/** A crash with a new cause; emitted by one of several gateways. */
	| {
			readonly type: "crash_new";
			readonly device: Device;
			readonly cause: Pick<Crash, "id" | "kind" | "message"> & {
				readonly frames: readonly string[];
				/** Version of the crashed firmware; empty if unknown. */
				readonly version: string;
			};
	  }
	/** Progress of an announcement of this gateway or another one: an `announcement_update`. */
	| { readonly type: "announcement"; readonly frame: string }
	/** A rollout has changed, here or at another gateway; it may come again. */
	| { readonly type: "rollout"; readonly rollout: FrameOf<"rollout_update"> }
	/** Quiet hours were changed, here or at another gateway. */
	| { readonly type: "quiet_hours" }
	/** A schedule was missed or has failed; emitted by one of several gateways. */
	| {
			readonly type: "schedule_failed";
			readonly id: string;
			readonly name: string | null;
			readonly outcome: "missed" | "failed";
			/** UTC. */
			readonly dueAt: string;
			/** One sentence. */
			readonly reason: string;
	  };
