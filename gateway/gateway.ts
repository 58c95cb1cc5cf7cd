/** The composition root: makes, connects, starts and stops the gateway's parts. */

import fs from "node:fs/promises";
import { join } from "node:path";
import type { RequestHandler, Router } from "express";
import type { Logger } from "pino";
import { Registry } from "prom-client";
import { trimmed } from "./access/origin.js";
import { deviceTokenOf } from "./access/secrets.js";
import { createAccessService } from "./access/service.js";
import type { Role } from "./access/tokens.js";
import { type Disk, readsRegularFiles } from "./atomic-file.js";
import type { Joined } from "./cluster/join.js";
import { Connections, maxUnauthenticatedOf } from "./connections.js";
import { FolderLock, findDiskProblem, usable } from "./data-folder.js";
import { deviceRoutes, historyText } from "./device-routes.js";
import { deviceAddresses, deviceSetupRoutes } from "./device-setup.js";
import { type CreateFirmwareService, createFirmwareService, findAuthority } from "./firmware/service.js";
import { createFront } from "./front.js";
import { createHttp } from "./http.js";
import { createAnswerError } from "./problem.js";
import { frameOf, type RolloutService, Rollouts } from "./rollouts/rollouts.js";
import { rolloutRoutes } from "./rollouts/routes.js";
import { RolloutStore } from "./rollouts/store.js";
import { end, listen } from "./server.js";
import type { Device } from "./sessions/device.js";
import { createDeviceData } from "./sessions/device-data.js";
import { Sessions } from "./sessions/sessions.js";
import { defaultSettings, requireSafe, type Settings } from "./settings.js";
import { DeviceSockets } from "./sockets/device-sockets.js";
import { Drain } from "./sockets/drain.js";
import { createYield } from "./sockets/event-loop.js";
import { startHeartbeat } from "./sockets/heartbeat.js";
import { type SocketLimits, socketLimits } from "./sockets/limits.js";
import { monitorCommands } from "./sockets/monitor-commands.js";
import { MonitorSockets } from "./sockets/monitor-sockets.js";
import { createUpgrades } from "./sockets/upgrades.js";
import { createLog } from "./telemetry/log.js";
import { createMetrics } from "./telemetry/metrics.js";
import { Refusals } from "./telemetry/refusals.js";
import { telemetryRoutes } from "./telemetry/routes.js";

export interface GatewayOptions extends Partial<Settings> {
	readonly log?: Logger;
	/** Milliseconds since 1970. */
	readonly now?: () => number;
	/** Monotonic clock, in milliseconds; default: since the start of this process. */
	readonly monotonic?: () => number;
	readonly limits?: Partial<SocketLimits>;
	/** At most. */
	readonly maxDevices?: number;
	readonly createFirmware?: CreateFirmwareService;
	/** Of the data folder; default: this machine's. */
	readonly disk?: Disk;
	readonly registry?: Registry;
	/** With the gateways with which it acts as one; closed with this gateway. Undefined: it is alone. */
	readonly joined?: Joined;
	readonly extension?: Extension;
}

/** What `npm run demo` adds. */
export interface Extension {
	/** File of the page's entry, in place of that of page/main.tsx. */
	readonly pageEntry: string;
	readonly routes: (requireMonitor: RequestHandler) => Router;
}

export interface Listening {
	/** Such as `http://127.0.0.1:8080`; no slash at its end. */
	readonly url: string;
	readonly port: number;
	/** Valid once, for an hour. */
	readonly loginUrl: string;
}

export type Gateway = ReturnType<typeof createGateway>;

/** @throws {StartError} if settings contradict each other or the certificate cannot be used */
export function createGateway(options: GatewayOptions = {}) {
	const { now = Date.now, monotonic = () => performance.now() } = options;
	const { createFirmware = createFirmwareService, joined } = options;
	const disk = readsRegularFiles(options.disk ?? fs);
	const { maxDevices = joined ? 100_000 : 10_000 } = options;
	const settings: Settings = { ...defaultSettings, ...options };
	const limits: SocketLimits = { ...socketLimits, ...options.limits };
	const log = options.log ?? createLog(settings.logLevel);
	const { auth, host, dataDir, publicUrl, tls } = settings;
	requireSafe(settings);
	/** Requests wait for the data. */
	let opening: Promise<void> | undefined;
	let listeningPort = settings.port;
	let closing: Promise<void> | undefined;

	const lock = new FolderLock({
		directory: dataDir,
		disk,
		onLost: (problem) => {
			log.fatal({ problem }, "stopping");
			void stop();
		},
		onProblem: (problem) => log.warn({ problem }, "data folder"),
	});
	const connections = new Connections({
		maxUnauthenticated: maxUnauthenticatedOf(limits.unauthenticatedConnections),
		monotonic,
	});
	const accessService = createAccessService({
		settings,
		disk,
		joined,
		log,
		now,
		monotonic,
		onAdmitted: ({ socket }) => connections.admit(socket),
	});
	const { access, tokens } = accessService;
	const answerError = createAnswerError((error) => log.error({ err: error }, "request failed"));
	const metrics = createMetrics(options.registry ?? new Registry());
	const deviceData = createDeviceData({
		dataDir,
		disk,
		joined,
		sessions: () => sessions,
		onAdopted: (device) => {
			firmware.updates.onConnected(device);
			monitors.announce(device.session, "disconnected");
		},
		onCrash: (device, { kind, message, file, line, firmware_version: version }) => {
			log.warn({ deviceId: device.deviceId, kind, version, message, file, line }, "device: crashed");
			metrics.countCrash(kind, version);
			sessions.announceCrash(device);
		},
		log,
		now,
		monotonic,
	});
	const { store: deviceStore, crashes } = deviceData;
	const sessions = new Sessions({
		now,
		monotonic,
		maxDevices,
		onChanged: (session, reason) => {
			const { sessionId, device, handshake, link } = session;
			const event = { sessionId, deviceId: device?.deviceId, remoteAddress: handshake.remoteAddress };
			log[reason === "ota" || link.gateway !== undefined ? "debug" : "info"](event, `device: ${reason}`);
			monitors.announce(session, reason);
			cluster?.onChanged(session, reason);
			if (device && reason !== "ota" && link.gateway === undefined) deviceStore.onSeen(device);
		},
		onNamed: (device) => {
			firmware.updates.onConnected(device);
			crashes.ask(device.session);
		},
		onUplink: (session, uplink, text) => {
			const isStateReport = uplink.type === "state_report";
			monitors.relay(session, text, isStateReport);
			cluster?.onUplink(session, text, isStateReport);
			if (!session.device) return;
			if (isStateReport) deviceStore.onSeen(session.device);
			firmware.updates.onUplink(session.device, uplink);
			if (uplink.type === "crash_report") void crashes.onReport(session, uplink);
		},
		onForgotten: (device, why) => {
			log.info({ deviceId: device.deviceId }, "device: forgotten");
			monitors.touch(device);
			cluster?.onForgotten(device);
			if (why === "told") monitors.announceAll();
			void deviceStore.forget(device);
			void crashes.forget(device);
			void firmware.updates.forget(device.deviceId);
		},
	});
	const firmware = createFirmware({
		settings,
		access,
		log,
		now,
		monotonic,
		setOta: (device, metadata) => sessions.setOta(device, metadata),
		onEnded: (outcome) => metrics.updates.inc({ outcome }),
		keepDevice: (device) => deviceStore.keep(device),
		answerError,
		disk,
		joined,
		findDevice: (deviceId) => sessions.devices.get(deviceId),
	});

	const heartbeat = startHeartbeat(limits.pingIntervalMs, limits.unansweredPings, monotonic);
	const yieldToLoop = createYield();
	const refusals = new Refusals(now);
	const parts = { sessions, limits, metrics, refusals, log, yieldToLoop, now, monotonic };
	const devices = new DeviceSockets(parts);
	const cluster = joined?.cluster({
		sessions,
		interest: () => monitors.interest(),
		onUplink: (session, text, isStateReport) => monitors.relay(session, text, isStateReport),
		onTouched: (device) => monitors.touch(device),
		announce: (frame) => monitors.announceCluster(frame),
		execute: (message) => execute(message),
		history: (device) => historyText(device, now(), monotonic()),
		metrics,
		log,
		now,
		monotonic,
		beatMs: limits.gatewayBeatMs,
	});
	const rolloutStore = new RolloutStore({
		directory: join(dataDir, "rollouts"),
		disk,
		onProblem: (problem) => log.warn({ problem }, "roll-outs"),
	});
	const rolloutParts = {
		selection: firmware.selection,
		updates: firmware.updates,
		devices: sessions.devices,
		now,
		monotonic,
		announce: (frame: string) => monitors.announceRollout(frame),
		log,
	};
	const rollouts: RolloutService =
		joined && cluster
			? joined.rollouts(cluster, {
					...rolloutParts,
					stored: rolloutStore,
					knowsDevices: () => deviceData.isComplete,
				})
			: new Rollouts({ ...rolloutParts, store: rolloutStore });
	const execute = monitorCommands(sessions, rollouts, log, cluster?.requests);
	const monitors = new MonitorSockets({
		...parts,
		cluster,
		execute,
		rollouts: () => rollouts.active().map((rollout) => frameOf(rollout)),
	});
	const upgrades = createUpgrades({ ...parts, access, devices, monitors, heartbeat, publicUrl });
	const knownHelp = "Devices that are known, connected or not";
	metrics.watch("gateway_known_devices", knownHelp, () => sessions.devices.size);
	metrics.watch("gateway_rollouts", "Roll-outs that are not over", () => rollouts.active().length);

	const findReadinessProblem = async () => {
		if (closing) return "The gateway is stopping.";
		return (
			deviceData.readinessProblem ??
			firmware.updates.readinessProblem ??
			rollouts.readinessProblem ??
			(await findDiskProblem(disk, dataDir))
		);
	};
	const erase = async (device: Device) => {
		// Last, as they alone are not in memory and cannot be put back. The device may have connected meanwhile.
		const removeCrashes = async () => (await crashes.forget(device)) && !device.session.connected;
		const isGone =
			(await deviceStore.forget(device)) && (await firmware.updates.forget(device.deviceId, removeCrashes));
		if (!isGone) void deviceStore.keep(device);
		return isGone;
	};
	const requireMonitor = access.require("monitor");
	const app = createHttp({
		access,
		isTls: tls !== undefined,
		deviceToken: () => tokens.current("device"),
		routers: [
			telemetryRoutes(metrics, refusals, requireMonitor, findReadinessProblem),
			firmware.router,
			deviceRoutes({
				sessions,
				updates: firmware.updates,
				crashes,
				requireMonitor,
				keep: (device) => deviceStore.keep(device),
				erase,
				cluster,
				onForgotten: () => monitors.announceAll(),
				now,
				monotonic,
			}),
			rolloutRoutes(rollouts, requireMonitor),
			...(options.extension ? [options.extension.routes(requireMonitor)] : []),
			deviceSetupRoutes({
				requireMonitor,
				tokenOf: (deviceId) => deviceTokenOf(tokens.current("device"), deviceId),
				addresses: () => deviceAddresses(host, listeningPort, tls !== undefined),
				authority: findAuthority(tls?.cert),
			}),
		],
		pageEntry: options.extension?.pageEntry,
		answerError,
	});
	const server = createFront({
		settings,
		limits,
		connections,
		access,
		binaries: firmware.binaries,
		app,
		upgrades,
		opening: () => opening,
		log,
	});

	const openData = async () => {
		await accessService.openLogins();
		await firmware.open();
		await deviceData.open();
		for (const device of sessions.devices.values()) firmware.updates.onConnected(device);
		deviceData.start();
		await cluster?.start();
		await rollouts.open();
	};
	const sendAway = async () => {
		const drain = new Drain({
			devices: devices.count,
			admittedASecond: upgrades.admittedASecond,
			monotonic,
		});
		upgrades.close(drain);
		await devices.drain(drain);
		monitors.close();
		await end(server, limits.closeTimeoutMs);
	};
	const close = async () => {
		log.info({ devices: devices.count }, "stopping");
		// Both at once: slow devices must not delay the writing.
		let isAlone = false;
		const alone = sendAway().then(() => {
			isAlone = true;
		});
		await Promise.all([deviceStore.settle(() => isAlone), alone]);
		devices.settle();
		cluster?.leave();
		heartbeat.close();
		await rollouts.close();
		await firmware.close();
		await deviceData.close();
		await accessService.close();
		await joined?.close();
		await lock.release();
		log.info("stopped");
	};
	const stop = () => {
		closing ??= close();
		return closing;
	};

	return {
		/** Valid after `listen`. */
		get tokens(): Readonly<Record<Role, string>> {
			return { device: tokens.current("device"), monitor: tokens.current("monitor") };
		},

		/** @throws {StartError} if its data folder, tokens or address cannot be used */
		async listen(): Promise<Listening> {
			await usable(dataDir, lock.take());
			let listening: { url: string; port: number };
			try {
				await accessService.openTokens();
				listening = await listen(server, settings);
				// Such as too many open files: one client is refused, the others stay.
				server.on("error", (error) => log.error({ err: error }, "connection not accepted"));
				opening = usable(dataDir, openData());
				await opening;
				opening = undefined;
			} catch (error) {
				server.close();
				await lock.release();
				throw error;
			}
			const { url, port } = listening;
			listeningPort = port;
			if (!auth) log.warn("AUTH=off: every program on this machine may control and update the devices");
			log.info({ url }, "listening");
			const base = publicUrl ? trimmed(publicUrl) : url;
			return { url, port, loginUrl: `${base}/login?code=${access.makeLoginCode()}` };
		},

		/** Closes devices with 1012, then monitors with 1001, writes all data, and cuts off the rest after 10 s. */
		close: (): Promise<void> => stop(),
	};
}
