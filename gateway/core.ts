/** Creates the core (access, sessions, firmware, sockets of monitors) and the extensions, which receive it. */

import { Access, type AccessOptions, type Change } from "./access/access.js";
import { EndedLogins } from "./access/ended-logins.js";
import { Tokens } from "./access/tokens.js";
import { type Base, type BaseOptions, createBase } from "./base.js";
import type { GatewayEvent } from "./events.js";
import type { Core, CreateExtension, Extension } from "./extension.js";
import { type CreateFirmwareService, createFirmwareService } from "./firmware/service.js";
import { Services } from "./services/service.js";
import { DeviceStore } from "./sessions/device-store.js";
import { type SessionListener, Sessions } from "./sessions/sessions.js";
import { monitorCommands, monitorMessages } from "./sockets/monitor-commands.js";
import { MonitorSockets } from "./sockets/monitor-sockets.js";
import { watchDevices } from "./telemetry/device-metrics.js";

export interface GatewayOptions extends BaseOptions {
	/** Default: 10,000. */
	readonly maxDevices?: number;
	readonly createFirmware?: CreateFirmwareService;
	/** Default: none. */
	readonly extensions?: readonly CreateExtension[];
}

/** @param port valid once the gateway listens */
export function createCore(options: GatewayOptions, port: () => number) {
	const base = createBase(options);
	const { log, metrics } = base;
	const onProblem = (problem: string) => log.warn({ problem }, "device records");
	/** Filled below, since extensions receive the core. */
	const extensions: Extension[] = [];
	const emit = (event: GatewayEvent) => {
		for (const extension of extensions) extension.onEvent?.(event);
	};
	const onChange = (change: Change) => emit({ type: "change", change });
	const { access, tokens, endedLogins } = createAccess(base, {
		onAdmitted: (request) => {
			for (const { guard } of extensions) guard?.onAdmitted(request);
		},
		onChange,
	});
	const sessions = new Sessions({ ...base, maxDevices: options.maxDevices ?? 10_000 });
	const deviceStore = new DeviceStore({ ...base, sessions, onProblem });
	const firmware = (options.createFirmware ?? createFirmwareService)({
		...base,
		access,
		sessions,
		deviceStore,
	});
	const execute = monitorCommands(sessions, firmware.updates, log, extensions, onChange);
	const monitors = new MonitorSockets({ ...base, sessions, execute, hooks: extensions });
	const core: Core = {
		...base,
		access,
		tokens,
		sessions,
		deviceStore,
		firmware,
		monitors,
		execute,
		emit,
		notifyReplaced: async (from, by) => {
			for (const extension of extensions) await extension.onReplaced?.(from, by);
		},
		services: new Services(),
		port,
	};
	for (const create of options.extensions ?? []) extensions.push(create(core));
	for (const { messages = {} } of [{ messages: monitorMessages }, ...extensions])
		for (const type of Object.keys(messages)) metrics.commands.inc({ type }, 0);
	for (const provide of extensions.flatMap(({ services = [] }) => services)) provide(core.services);
	// The order matters: monitors get an uplink before the changes that it causes.
	const listeners = extensions.flatMap((extension) => extension.sessions ?? []);
	const finalListeners = [deviceStore.sessions, firmware.updates.sessions];
	for (const listener of [logListener(base), monitors.sessions, ...listeners, ...finalListeners])
		sessions.listen(listener);
	watchDevices({ metrics, sessions, catalog: firmware.catalog });
	return { core, endedLogins, extensions };
}

function createAccess(base: Base, hooks: Pick<AccessOptions, "onAdmitted" | "onChange">) {
	const { settings, disk, log } = base;
	const { dataDir, deviceToken: device, monitorToken: monitor, publicUrl } = settings;
	const onProblemOf = (what: string) => (problem: string) => log.error({ problem }, what);
	const tokens = new Tokens({
		dataDir,
		fromEnvironment: { device, monitor },
		disk,
		onProblem: onProblemOf("tokens"),
	});
	const endedLogins = new EndedLogins({
		...base,
		onProblem: onProblemOf("logins"),
		onEnded: () => void access.endRevoked(),
	});
	const access: Access = new Access({
		...base,
		...hooks,
		tokens,
		endedLogins,
		isOff: !settings.auth,
		publicUrl,
	});
	return { access, tokens, endedLogins };
}

/** Logs connections, disconnections and updates of devices. */
function logListener({ log }: Base): SessionListener {
	return {
		onOwnChanged: ({ sessionId, device, handshake }, reason) => {
			const event = { sessionId, deviceId: device?.deviceId, remoteAddress: handshake.remoteAddress };
			log[reason === "ota" ? "debug" : "info"](event, `device: ${reason}`);
		},
		onForgotten: ({ deviceId }) => log.info({ deviceId }, "device: forgotten"),
	};
}
