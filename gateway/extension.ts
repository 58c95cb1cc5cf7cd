/**
 * The seam between the core and the extensions. An extension is a folder and a line in extensions.ts: without both,
 * the rest compiles and passes its tests. Neither the core nor another extension imports it.
 */

import type { Router } from "express";
import type { Schema } from "../device/protocol/schema.js";
import type { Access } from "./access/access.js";
import type { Tokens } from "./access/tokens.js";
import type { Base, BaseOptions } from "./base.js";
import type { GatewayEvent } from "./events.js";
import type { FirmwareService } from "./firmware/service.js";
import type { Guard } from "./http/guard.js";
import type { Route } from "./http/routes.js";
import type { Provision, Services } from "./services/service.js";
import type { DeviceStore } from "./sessions/device-store.js";
import type { SessionListener, Sessions } from "./sessions/sessions.js";
import type { Setting } from "./setting.js";
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
	/** Services that extensions provide to each other. */
	readonly services: Services;
	/** Valid once the gateway listens. */
	readonly port: () => number;
}

/** A message of monitors that an extension adds, for the AsyncAPI document. */
export interface MessageDocument {
	readonly schema: Schema;
	readonly description: string;
	readonly example: Readonly<Record<string, string | boolean | readonly string[]>>;
}

export interface CreateExtension {
	(core: Core): Extension;
	/** Its settings, for the documentation. */
	readonly settings?: readonly Setting<unknown>[];
	/** By `type`: messages of monitors that it adds. */
	readonly messages?: Readonly<Record<string, MessageDocument>>;
}

/** Given by the loading of extensions to the core. */
export interface Joined
	extends Pick<BaseOptions, "environment" | "records" | "blobs" | "openLog" | "storage" | "peers"> {
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
	readonly services?: readonly Provision[];
	/** @returns a sentence that says why a device of this id is rejected; undefined: it is accepted */
	rejectionOf?(deviceId: string): string | undefined;
	/** One sentence; undefined: devices may be sent here. */
	readonly readinessProblem?: string | undefined;
	/** Called in the order of the list, after the core has loaded its data. @throws {NodeJS.ErrnoException} */
	open?(): Promise<void>;
	/** Called in reverse order, after all sessions have ended, also after a failed start. */
	close?(): Promise<void>;
}
