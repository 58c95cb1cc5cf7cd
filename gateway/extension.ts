/**
 * Interface between the core and the extensions. An extension is a folder and a line in extensions.ts. After removing
 * both, the rest compiles and passes its tests: neither the core nor another extension imports it.
 */

import type { Router } from "express";
import type { Schema } from "../device/protocol/schema.js";
import type { Access } from "./access/access.js";
import type { Tokens } from "./access/tokens.js";
import type { Base, BaseOptions } from "./base.js";
import type { Events, Listeners } from "./events.js";
import type { FirmwareService } from "./firmware/service.js";
import type { Guard } from "./http/guard.js";
import type { Route } from "./http/routes.js";
import type { Services } from "./services/services.js";
import type { DeviceStore } from "./sessions/device-store.js";
import type { Sessions } from "./sessions/sessions.js";
import type { Setting } from "./setting.js";
import type { CommandHooks, Execute } from "./sockets/monitor-commands.js";
import type { MonitorHooks, MonitorSockets } from "./sockets/monitor-sockets.js";

/** Parts of the gateway that extensions may use. */
export interface Core extends Base {
	readonly access: Access;
	readonly tokens: Tokens;
	readonly events: Events;
	readonly sessions: Sessions;
	readonly deviceStore: DeviceStore;
	readonly firmware: FirmwareService;
	readonly monitors: MonitorSockets;
	/** Executes a message as if a monitor had sent it. */
	readonly execute: Execute;
	/** Calls `onReplaced` of all extensions, one after another. */
	readonly notifyReplaced: (from: string, by: string) => Promise<void>;
	/** Services of all extensions, provided after the last one is created. */
	readonly services: Services;
	/** Valid once the gateway listens. */
	readonly port: () => number;
	/** Returns GATEWAY_NAME, or host and port; valid once the gateway listens. */
	readonly name: () => string;
}

/** Documentation of a monitor message added by an extension, for asyncapi.yaml. */
export interface MessageDocument {
	readonly schema: Schema;
	readonly description: string;
	readonly example: Readonly<Record<string, string | boolean | readonly string[]>>;
}

export interface CreateExtension {
	(core: Core): Extension;
	/** Settings, for the documentation. */
	readonly settings?: readonly Setting<unknown>[];
	/** Added monitor messages, by `type`. */
	readonly messages?: Readonly<Record<string, MessageDocument>>;
}

/** Options of the core that depend on the loaded extensions. */
export interface LoadedExtensions
	extends Pick<BaseOptions, "environment" | "records" | "blobs" | "openLog" | "storage" | "peers"> {
	readonly extensions: readonly CreateExtension[];
	readonly maxDevices?: number;
}

/** Optional feature of the gateway. Creating it has no side effects; `open` starts it. */
export interface Extension extends CommandHooks, MonitorHooks {
	/** Routes that take precedence over those of the core. */
	readonly routes?: readonly Route[];
	/** Files served without a token. */
	readonly pages?: Router;
	/** Listeners of events, in the order of extensions.ts. */
	readonly listeners?: readonly Listeners[];
	readonly guard?: Guard;
	/**
	 * Transfers data of the device `from`, which is forgotten afterwards, to its replacement `by`. Idempotent, since it is
	 * repeated after a failure or a restart, possibly at several gateways at once. @throws {Error} if writing fails
	 */
	onReplaced?(from: string, by: string): Promise<void>;
	readonly services?: Services;
	/** @returns reason for which a device with this id is rejected, as a sentence; undefined: it is accepted */
	rejectionOf?(deviceId: string): string | undefined;
	/** Reason why `/readyz` fails, as a sentence; undefined: ready for devices. */
	readonly readinessProblem?: string | undefined;
	/**
	 * Starts the extension, in the order of extensions.ts, after the core has loaded its data.
	 * @throws {NodeJS.ErrnoException}
	 */
	open?(): Promise<void>;
	/** Stops the extension, in reverse order, after all sessions have ended. Called after a failed start, too. */
	close?(): Promise<void>;
}
