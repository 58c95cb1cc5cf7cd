/**
 * The seam between the core and the extensions. An extension is a folder and a line in extensions.ts: without both,
 * the rest compiles and passes its tests. Neither the core nor another extension imports it.
 */

import type { Router } from "express";
import type { Crash, CrashKind } from "../device/protocol/messages.js";
import type { Schema } from "../device/protocol/schema.js";
import type { Access, Change } from "./access/access.js";
import type { Tokens } from "./access/tokens.js";
import type { FrameOf } from "./api/frames.js";
import type { Base, BaseOptions } from "./base.js";
import type { FirmwareService } from "./firmware/service.js";
import type { Guard } from "./http/guard.js";
import type { Route } from "./http/routes.js";
import type { Device } from "./sessions/device.js";
import type { DeviceStore } from "./sessions/device-store.js";
import type { SessionListener, Sessions } from "./sessions/sessions.js";
import type { CommandHooks, Execute } from "./sockets/monitor-commands.js";
import type { MonitorHooks, MonitorSockets } from "./sockets/monitor-sockets.js";

/** What the core hands to each extension. */
export interface Core extends Base {
	readonly access: Access;
	readonly tokens: Tokens;
	readonly sessions: Sessions;
	readonly deviceStore: DeviceStore;
	readonly firmware: FirmwareService;
	readonly monitors: MonitorSockets;
	/** Executes a monitor's message. */
	readonly execute: Execute;
	/** Tells all extensions what has happened. */
	readonly emit: (event: GatewayEvent) => void;
	/** Has all extensions give a new board what they have of an old one: `Extension.onReplaced`. */
	readonly handOver: (from: string, by: string) => Promise<void>;
	/** What the extensions do for others: what a missing one would do is undefined. */
	readonly services: () => Partial<Services>;
	/** Valid once the gateway listens. */
	readonly port: () => number;
}

/** What happens in one part, and others may need. */
export type GatewayEvent =
	/** A person has changed something. */
	| { readonly type: "change"; readonly change: Change }
	/** A crash of a device of this gateway was stored. */
	| { readonly type: "crash"; readonly device: Device; readonly crash: Crash }
	/** Of a cause that was not known; of several gateways one tells it. */
	| {
			readonly type: "crash_new";
			readonly device: Device;
			readonly cause: Pick<Crash, "id" | "kind" | "message"> & {
				readonly frames: readonly string[];
				/** Of the firmware that crashed; empty if unknown. */
				readonly version: string;
			};
	  }
	/** What devices have come to in an announcement of this gateway or another one: an `announcement_update`. */
	| { readonly type: "announcement"; readonly frame: string }
	/** A roll-out has changed, here or at another gateway; it may come again. */
	| { readonly type: "rollout"; readonly rollout: FrameOf<"rollout_update"> }
	/** Quiet hours were changed, here or at another gateway. */
	| { readonly type: "quiet_hours" }
	/** What was due was left out, or has failed; of several gateways one tells it. */
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

/** What extensions do for others. */
export interface Services {
	readonly announcements: Announcer;
	readonly commands: JobService;
	readonly quietHours: QuietHoursService;
	readonly crashes: CrashService;
	readonly history: HistoryService;
	readonly replacements: ReplacementService;
}

/** Knows the crashes of devices, at all gateways together. */
export interface CrashService {
	/** @returns the latest crash of a device; undefined if none is known */
	latestOf(deviceId: string): LatestCrash | undefined;
}

export interface LatestCrash {
	readonly id: string;
	readonly kind: CrashKind;
	/** Of the firmware that crashed; empty if unknown. */
	readonly version: string;
}

/** What has happened to devices. */
export interface HistoryService {
	/** @returns what `GET /api/devices/<id>` says of it */
	of(device: Device): Promise<object>;
}

/** Knows which boards others have replaced. */
export interface ReplacementService {
	/** @returns why a device of this id is not let in, one sentence; undefined: it is */
	refusalOf(deviceId: string): string | undefined;
	/** @returns the board that has replaced it */
	replacementOf(deviceId: string): string | undefined;
	/** The boards in whose place a device is, as `GET /api/devices/<id>` has them, the latest first. */
	before(deviceId: string): readonly object[];
}

/** Keeps quiet hours; `GatewayEvent` says when some have changed. */
export interface QuietHoursService {
	/** Those that count for a device, as `GET /api/quiet-hours` has them; undefined: none. */
	of(device: Device):
		| {
				readonly targets: { readonly device?: string };
				/** Times of day, such as "22:00". */
				readonly from: string;
				readonly until: string;
				readonly days?: readonly string[];
				/** In percent. */
				readonly volume?: number;
				/** 0 to 1. */
				readonly brightness?: number;
				readonly onlyUrgent?: boolean;
				readonly on: boolean;
		  }
		| undefined;
	/**
	 * @param asked the body of `PUT /api/quiet-hours`; other fields are left out
	 * @param by the name of a person's token; null: another program, such as Home Assistant
	 * @throws {HttpProblem}
	 */
	set(asked: unknown, by: string | null): Promise<unknown>;
}

/** Begins jobs of one kind. */
export interface JobService {
	/** @param asked the body of its `POST` @returns what of it counts @throws {HttpProblem} as that, whatever runs now */
	check(asked: unknown): object;
	/** @param asked as for `check` @returns its id @throws {HttpProblem} as its `POST` */
	begin(asked: unknown, beginning: Beginning): Promise<string>;
	/** Whether this gateway, or another one that answers, has a job of this id. */
	has(id: string): Promise<boolean>;
}

/** How a job is begun. */
export interface Beginning {
	/** Default: a new one. */
	readonly id?: string;
	/** The name of a person's token; null: by another program, such as Home Assistant. */
	readonly by: string | null;
	/** Called once, in the turn in which the devices are asked. @param problem why they are not; null: they are */
	readonly onAsked?: (problem: string | null) => void;
}

/** Plays sounds; the ids of its jobs are those under which devices play them. */
export interface Announcer extends JobService {
	/** Whether it can play a text. */
	readonly canSpeak: boolean;
	/** Those that are kept. */
	sounds(): readonly { readonly id: string; readonly name: string }[];
}

/** A message of monitors that an extension adds, for the AsyncAPI document. */
export interface MessageDocument {
	readonly schema: Schema;
	readonly description: string;
	readonly example: Readonly<Record<string, string | boolean | readonly string[]>>;
}

export type CreateExtension = (core: Core) => Extension;

/** Given by the loading of extensions to the core. */
export interface Joined extends Pick<BaseOptions, "records" | "blobs" | "openLog" | "storage" | "peers"> {
	readonly extensions: readonly CreateExtension[];
	readonly maxDevices?: number;
}

/** Its constructor starts nothing: `open` does. */
export interface Extension extends CommandHooks, MonitorHooks {
	/** Routes that take precedence over those of the core. */
	readonly routes?: readonly Route[];
	/** Files that need no token. */
	readonly pages?: Router;
	readonly sessions?: readonly SessionListener[];
	readonly guard?: Guard;
	onEvent?(event: GatewayEvent): void;
	/**
	 * The board `by` is in place of `from`: it gets what this part has of `from`, which is forgotten afterwards. Called again after a
	 * failure or a restart, and maybe at several gateways at one time: then it does what is left. @throws {Error} something is not written
	 */
	onReplaced?(from: string, by: string): Promise<void>;
	readonly services?: Partial<Services>;
	/** One sentence; undefined: devices may be sent here. */
	readonly readinessProblem?: string | undefined;
	/** Called in the order of the list, after the core has loaded its data. @throws {NodeJS.ErrnoException} */
	open?(): Promise<void>;
	/** Called in reverse order, after all sessions have ended, also after a failed start. */
	close?(): Promise<void>;
}
