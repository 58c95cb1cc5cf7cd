/** Makes the core: access, sessions, firmware, and the sockets of devices and monitors. */

import fs from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { Registry } from "prom-client";
import { Access, type Change } from "./access/access.js";
import { EndedLogins } from "./access/ended-logins.js";
import { Tokens } from "./access/tokens.js";
import type { Core, CreateExtension, Extension, GatewayEvent } from "./extension.js";
import { type CreateFirmwareService, createFirmwareService } from "./firmware/service.js";
import { alone, type Peers } from "./peers.js";
import { createAnswerError } from "./problem.js";
import { DeviceStore } from "./sessions/device-store.js";
import { type SessionListener, Sessions } from "./sessions/sessions.js";
import { defaultSettings, type Settings } from "./settings.js";
import { createYield } from "./sockets/event-loop.js";
import { type SocketLimits, socketLimits } from "./sockets/limits.js";
import { monitorCommands } from "./sockets/monitor-commands.js";
import { MonitorSockets } from "./sockets/monitor-sockets.js";
import { type Disk, strictDisk } from "./storage/atomic-file.js";
import { Blobs, type CreateBlobs } from "./storage/blobs.js";
import { FileLog } from "./storage/file-log.js";
import { fileRecords } from "./storage/file-records.js";
import type { OpenLog } from "./storage/log.js";
import type { CreateRecords, Storage } from "./storage/records.js";
import { createLog } from "./telemetry/log.js";
import { createMetrics } from "./telemetry/metrics.js";

export interface GatewayOptions extends Partial<Settings> {
	readonly log?: Logger;
	/** Milliseconds since 1970. */
	readonly now?: () => number;
	/** Monotonic, in milliseconds; default: since the start of this process. */
	readonly monotonic?: () => number;
	/** By name: those of the core, and of extensions. */
	readonly limits?: Readonly<Record<string, number>>;
	/** At most; default: 10,000. */
	readonly maxDevices?: number;
	readonly createFirmware?: CreateFirmwareService;
	/** Of the data folder; default: this machine's. */
	readonly disk?: Disk;
	readonly registry?: Registry;
	/** Default: none. */
	readonly extensions?: readonly CreateExtension[];
	/** Default: files in the data folder. */
	readonly records?: CreateRecords;
	/** Default: folders in the data folder. */
	readonly blobs?: CreateBlobs;
	/** Default: a folder in the data folder. */
	readonly openLog?: OpenLog;
	readonly storage?: Storage;
	/** Its bus is closed with this gateway. */
	/** Default: `alone`. */
	readonly peers?: Peers;
}

export function createCore(options: GatewayOptions) {
	const { now = Date.now, monotonic = () => performance.now() } = options;
	const { createFirmware = createFirmwareService, maxDevices = 10_000, peers = alone } = options;
	const disk = strictDisk(options.disk ?? fs);
	const settings: Settings = { ...defaultSettings, ...options };
	const limits: SocketLimits = { ...socketLimits, ...options.limits };
	const log = options.log ?? createLog(settings.logLevel);
	const { dataDir, deviceToken: device, monitorToken: monitor, publicUrl } = settings;
	const records: CreateRecords =
		options.records ??
		(({ name, ...kind }) => fileRecords({ ...kind, directory: join(dataDir, name), disk }));
	const blobs: CreateBlobs =
		options.blobs ?? (({ name, ...kind }) => new Blobs({ ...kind, directory: join(dataDir, name), disk }));
	const openLog: OpenLog =
		options.openLog ??
		(async (name, onProblem) => new FileLog({ directory: join(dataDir, name), disk, onProblem }));
	const storage = options.storage ?? { place: "the gateway's disk", status: 507 };
	/** Filled below, as extensions are handed the core. */
	const list: Extension[] = [];
	const listening = { port: settings.port };
	const metrics = createMetrics(options.registry ?? new Registry());
	const clocks = { now, monotonic };
	const answerError = createAnswerError((error) => log.error({ err: error }, "request failed"));
	const onProblemOf = (what: string) => (problem: string) => log.warn({ problem }, what);

	const tokens = new Tokens({
		dataDir,
		given: { device, monitor },
		disk,
		onProblem: (problem) => log.error({ problem }, "tokens"),
	});
	const endedLogins = new EndedLogins({
		records,
		storage,
		now,
		onProblem: (problem) => log.error({ problem }, "logins"),
		onEnded: () => void access.endRevoked(),
	});
	const emit = (event: GatewayEvent) => {
		for (const extension of list) extension.onEvent?.(event);
	};
	const onChange = (change: Change) => emit({ type: "change", change });
	const access: Access = new Access({
		tokens,
		isOff: !settings.auth,
		publicUrl,
		endedLogins,
		log,
		...clocks,
		onAdmitted: (request) => {
			for (const { guard } of list) guard?.onAdmitted(request);
		},
		onChange,
	});

	const sessions = new Sessions({ ...clocks, maxDevices });
	const deviceStore = new DeviceStore({
		records,
		sessions,
		monotonic,
		onProblem: onProblemOf("known devices"),
	});
	const firmware = createFirmware({
		settings,
		access,
		log,
		...clocks,
		setOta: (device, metadata) => sessions.setOta(device, metadata),
		onEnded: (outcome) => metrics.updates.inc({ outcome }),
		keepDevice: (device) => deviceStore.keep(device),
		answerError,
		disk,
		records,
		blobs,
		findDevice: (deviceId) => sessions.devices.get(deviceId),
	});

	const yieldToLoop = createYield();
	const socketsOptions = {
		sessions,
		limits,
		metrics,
		log,
		yieldToLoop,
		...clocks,
	};
	const execute = monitorCommands(sessions, firmware.updates, log, list, onChange);
	const monitors = new MonitorSockets({ ...socketsOptions, execute, hooks: list, peers });
	const core: Core = {
		settings,
		limits,
		log,
		metrics,
		disk,
		...clocks,
		yieldToLoop,
		records,
		blobs,
		openLog,
		storage,
		access,
		tokens,
		requirePerson: access.requirePerson,
		sessions,
		deviceStore,
		firmware,
		monitors,
		execute,
		emit,
		peers,
		announcer: () => list.find(({ announcer }) => announcer)?.announcer,
		port: () => listening.port,
	};
	for (const create of options.extensions ?? []) list.push(create(core));
	// In this order: monitors see an uplink before what it changes.
	sessions.listen(logOf(log));
	sessions.listen(monitors.sessions);
	for (const extension of list) for (const listener of extension.sessions ?? []) sessions.listen(listener);
	sessions.listen(deviceStore.sessions);
	sessions.listen(firmware.updates.sessions);
	metrics.watch(
		"gateway_known_devices",
		"Devices that are known, connected or not",
		() => sessions.devices.size,
	);
	return { ...core, endedLogins, listening, extensions: list, answerError, socketsOptions };
}

function logOf(log: Logger): SessionListener {
	return {
		onOwnChanged: ({ sessionId, device, handshake }, reason) => {
			const event = { sessionId, deviceId: device?.deviceId, remoteAddress: handshake.remoteAddress };
			log[reason === "ota" ? "debug" : "info"](event, `device: ${reason}`);
		},
		onForgotten: ({ deviceId }) => log.info({ deviceId }, "device: forgotten"),
	};
}
