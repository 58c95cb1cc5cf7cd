/**
 * The seam between the core and everything beside it. An extension is a folder, and a line in extensions.ts: without both
 * the rest compiles and passes its tests. The core imports no extension, and no extension imports another one.
 */

import type { RequestHandler, Router } from "express";
import type { Logger } from "pino";
import type { Schema } from "../device/protocol/schema.js";
import type { Access } from "./access/access.js";
import type { EndedLogins } from "./access/ended-logins.js";
import type { Tokens } from "./access/tokens.js";
import type { Bus } from "./bus.js";
import type { FirmwareService } from "./firmware/service.js";
import type { Guard } from "./http/guard.js";
import type { Device } from "./sessions/device.js";
import type { DeviceStore } from "./sessions/device-store.js";
import type { SessionListener, Sessions } from "./sessions/sessions.js";
import type { Settings } from "./settings.js";
import type { SocketLimits } from "./sockets/limits.js";
import type { CommandHooks, Execute } from "./sockets/monitor-commands.js";
import type { MonitorHooks, MonitorSockets } from "./sockets/monitor-sockets.js";
import type { Disk } from "./storage/atomic-file.js";
import type { CreateRecords } from "./storage/records.js";
import type { Metrics } from "./telemetry/metrics.js";

/** What the core hands to each extension. */
export interface Core {
	readonly settings: Settings;
	readonly limits: SocketLimits;
	readonly log: Logger;
	readonly metrics: Metrics;
	readonly disk: Disk;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Monotonic clock, in milliseconds. */
	readonly monotonic: () => number;
	/** Awaited before work that many clients may cause at once: see sockets/event-loop.ts. */
	readonly yieldToLoop: () => Promise<void>;
	/** Makes a store of one record for each device. */
	readonly records: CreateRecords;
	readonly storage: Storage;
	readonly access: Access;
	readonly tokens: Tokens;
	readonly endedLogins: EndedLogins;
	/** Express middleware: passes requests with the monitor token or a login. */
	readonly requireMonitor: RequestHandler;
	readonly sessions: Sessions;
	readonly deviceStore: DeviceStore;
	readonly firmware: FirmwareService;
	readonly monitors: MonitorSockets;
	/** Carries out a monitor's message. */
	readonly execute: Execute;
	/** Undefined where this gateway is alone. */
	readonly peers: Peers | undefined;
	/** Valid once the gateway listens. */
	readonly port: () => number;
}

/** For answers where something could not be stored. */
export interface Storage {
	/** Such as "the data folder". */
	readonly place: string;
	/** 507: it is full or broken; 503: it cannot be reached. */
	readonly status: 503 | 507;
}

/** The gateways with which this one acts as one. */
export interface Peers {
	/** Of this gateway, another one at each start. */
	readonly id: string;
	readonly bus: Bus;
	/** The id of the gateway to which a device is connected; undefined: this one. */
	readonly ownerOf: (device: Device) => string | undefined;
	/** Sees to it that all have the same tokens; before they are opened. @throws {StartError} if their file is invalid */
	readonly openTokens: (tokens: Tokens, onProblem: (sentence: string) => void) => Promise<void>;
	/** Called last. */
	readonly close: () => Promise<void>;
}

/** A message of monitors that an extension adds, for the AsyncAPI document. */
export interface MessageDocument {
	readonly schema: Schema;
	readonly description: string;
	readonly example: Readonly<Record<string, string | boolean | readonly string[]>>;
}

export type CreateExtension = (core: Core) => Extension;

/** What the loading of extensions gives to the core. */
export interface Joined {
	readonly extensions: readonly CreateExtension[];
	readonly records?: CreateRecords;
	readonly storage?: Storage;
	readonly peers?: Peers;
	readonly maxDevices?: number;
}

/** Its constructor starts nothing: `open` does. */
export interface Extension extends CommandHooks, MonitorHooks {
	/** Paths below `/`, with the check of their token. */
	readonly routes?: Router;
	/** The login page; `<!--message-->` is replaced by the error. */
	loginPage?(): Promise<string>;
	readonly sessions?: readonly SessionListener[];
	readonly guard?: Guard;
	/** One sentence; undefined: a proxy may send devices here. */
	readonly readinessProblem?: string | undefined;
	/** Called in the order of the list, once the core has loaded its data. @throws {NodeJS.ErrnoException} */
	open?(): Promise<void>;
	/** Called in the reverse order, once all sessions have ended. Also after a start that failed. */
	close?(): Promise<void>;
}
