/** Events sent to all extensions. */

import type { Crash } from "../device/protocol/messages.js";
import type { Change } from "./access/access.js";
import type { FrameOf } from "./api/frames.js";
import type { Device } from "./sessions/device.js";

export type GatewayEvent =
	/** Change made by a person, for the audit log. */
	| { readonly type: "change"; readonly change: Change }
	/** Stored crash of a device connected to this gateway. */
	| { readonly type: "crash"; readonly device: Device; readonly crash: Crash }
	/** Crash with a new cause; emitted by one gateway of a cluster. */
	| {
			readonly type: "crash_new";
			readonly device: Device;
			readonly cause: Pick<Crash, "id" | "kind" | "message"> & {
				readonly frames: readonly string[];
				/** Version of the crashed firmware; empty if unknown. */
				readonly version: string;
			};
	  }
	/** Progress of an announcement, here or at another gateway: an `announcement_update` frame. */
	| { readonly type: "announcement"; readonly frame: string }
	/** Changed rollout, here or at another gateway; may be repeated. */
	| { readonly type: "rollout"; readonly rollout: FrameOf<"rollout_update"> }
	/** All devices of a room are now in a room that did not exist before; emitted by one gateway of a cluster. */
	| { readonly type: "room_renamed"; readonly from: string; readonly to: string }
	/** Changed quiet hours, here or at another gateway. */
	| { readonly type: "quiet_hours" }
	/** Missed or failed schedule; emitted by one gateway of a cluster. */
	| {
			readonly type: "schedule_failed";
			readonly id: string;
			readonly name: string | null;
			readonly outcome: "missed" | "failed";
			/** ISO 8601 in UTC. */
			readonly dueAt: string;
			/** One sentence. */
			readonly reason: string;
	  };
