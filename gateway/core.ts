/** Creates the core (access, sessions, firmware, sockets of monitors) and the extensions, which receive it. */

import type { IncomingMessage } from "node:http";
import { hostname } from "node:os";
import { Access, type Change } from "./access/access.js";
import { Tokens } from "./access/tokens.js";
import { type Base, type BaseOptions, createBase } from "./base.js";
import { Events, type Listeners } from "./events.js";
import type { Core, CreateExtension, Extension } from "./extension.js";
import { createFirmwareService } from "./firmware/service.js";
import { DeviceStore } from "./sessions/device-store.js";
import { Sessions } from "./sessions/sessions.js";
import { monitorCommands, monitorMessages } from "./sockets/monitor-commands.js";
import { MonitorSockets } from "./sockets/monitor-sockets.js";
import { watchDevices } from "./telemetry/device-metrics.js";

export interface GatewayOptions extends BaseOptions {
	/** Default: new ones. */
	readonly events?: Events;
	/** Default: 10,000. */
	readonly maxDevices?: number;
	/** Default: none. */
	readonly extensions?: readonly CreateExtension[];
}

/** @param port valid once the gateway listens */
export function createCore(options: GatewayOptions, port: () => number) {
	const base = createBase(options);
	const { log, metrics } = base;
	const { events = new Events() } = options;
	/** Filled below, since extensions receive the core. */
	const extensions: Extension[] = [];
	const onChange = (change: Change) => events.emit("changed", change);
	const { dataDir, deviceToken: device, monitorToken: monitor } = base.settings;
	const onProblem = (problem: string) => log.error({ problem }, "tokens");
	const tokens = new Tokens({ ...base, dataDir, fromEnvironment: { device, monitor }, onProblem });
	const onAdmitted = (request: IncomingMessage) => {
		for (const { guard } of extensions) guard?.onAdmitted(request);
	};
	const access = new Access({ ...base, tokens, onAdmitted, onChange });
	const sessions = new Sessions({ ...base, events, maxDevices: options.maxDevices ?? 10_000 });
	const deviceStore = new DeviceStore({ ...base, sessions });
	const firmware = createFirmwareService({ ...base, access, sessions, deviceStore });
	const execute = monitorCommands(sessions, firmware.updates, log, extensions, onChange);
	const monitors = new MonitorSockets({ ...base, events, sessions, execute, hooks: extensions });
	const core: Core = {
		...base,
		access,
		tokens,
		events,
		sessions,
		deviceStore,
		firmware,
		monitors,
		execute,
		notifyReplaced: async (from, by) => {
			for (const extension of extensions) await extension.onReplaced?.(from, by);
		},
		services: {},
		port,
		// Containers of one image differ by host name, gateways on one machine by port.
		name: () => base.settings.gatewayName ?? `${hostname()}:${port()}`,
	};
	for (const create of options.extensions ?? []) extensions.push(create(core));
	for (const { messages = {} } of [{ messages: monitorMessages }, ...extensions])
		for (const type of Object.keys(messages)) metrics.commands.inc({ type }, 0);
	Object.assign(core.services, ...extensions.map(({ services }) => services));
	// The order matters: monitors get an uplink before the changes that it causes.
	const listeners = extensions.flatMap((extension) => extension.listeners ?? []);
	const finalListeners = [deviceStore.listeners, firmware.updates.listeners];
	for (const listener of [logListener(base), monitors.listeners, ...listeners, ...finalListeners])
		events.on(listener);
	watchDevices({ metrics, sessions, catalog: firmware.catalog });
	return { core, extensions };
}

/** Logs connections, disconnections and updates of devices. */
function logListener({ log }: Base): Listeners {
	return {
		ownSessionChanged: ({ sessionId, device, handshake }, reason) => {
			const event = { sessionId, deviceId: device?.deviceId, remoteAddress: handshake.remoteAddress };
			log[reason === "ota" ? "debug" : "info"](event, `device: ${reason}`);
		},
		deviceForgotten: ({ deviceId }) => log.info({ deviceId }, "device: forgotten"),
	};
}
