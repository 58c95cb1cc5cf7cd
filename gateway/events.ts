/** Events of the gateway: what has happened, for all parts that listen. */

import type { Crash } from "../device/protocol/messages.js";
import type { Change } from "./access/access.js";
import type { FrameOf } from "./api/frames.js";
import { EventBus, type ListenersOf } from "./event-bus.js";
import type { Device } from "./sessions/device.js";
import type { SessionEvents } from "./sessions/sessions.js";

/** Cause of crashes, as its first crash reported it. */
export interface CrashCause extends Pick<Crash, "id" | "kind" | "message"> {
	readonly frames: readonly string[];
	/** Version of the crashed firmware; empty if unknown. */
	readonly version: string;
}

export interface ScheduleFailure {
	readonly id: string;
	readonly name: string | null;
	readonly outcome: "missed" | "failed";
	/** ISO 8601 in UTC. */
	readonly dueAt: string;
	/** One sentence. */
	readonly reason: string;
}

/** Parameters of the listeners, by event. */
export interface GatewayEvents extends SessionEvents {
	/** A change made by a person, for the audit log. */
	changed: [change: Change];
	/** A stored crash of a device connected to this gateway. */
	crash: [device: Device, crash: Crash];
	/** A crash with a new cause; emitted by one gateway of a cluster. */
	crashCause: [device: Device, cause: CrashCause];
	/** Progress of an announcement, here or at another gateway. @param frame of type `announcement_update` */
	announcement: [frame: string];
	/** A changed rollout, here or at another gateway; may be repeated. */
	rollout: [rollout: FrameOf<"rollout_update">];
	/** All devices of a room are now in a room that did not exist before; emitted by one gateway of a cluster. */
	roomRenamed: [from: string, to: string];
	/** Changed quiet hours, here or at another gateway. */
	quietHoursChanged: [];
	/** A missed or failed schedule; emitted by one gateway of a cluster. */
	scheduleFailed: [failure: ScheduleFailure];
}

export type Listeners = ListenersOf<GatewayEvents>;

export class Events extends EventBus<GatewayEvents> {}
