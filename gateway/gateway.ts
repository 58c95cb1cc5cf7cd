/**
 * The composition root: makes every part of the gateway, hands each what it needs, and starts and stops them in order.
 * No other file knows how the rooms hang together.
 */

import { once } from "node:events";
import disk, { constants } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import type { Logger } from "pino";
import { Registry } from "prom-client";
import { Access } from "./access/access.js";
import { hostOf, isLoopback } from "./access/origin.js";
import type { Role } from "./access/token-file.js";
import { Tokens } from "./access/tokens.js";
import { type CreateFirmwareRoom, createFirmwareRoom, type FirmwareRoom } from "./firmware/room.js";
import { createHttp } from "./http.js";
import { RecordFolder } from "./record-folder.js";
import type { Device, OtaMetadata } from "./sessions/device.js";
import { deviceFile, KnownDevices } from "./sessions/known-devices.js";
import { deviceRoutes } from "./sessions/routes.js";
import { Sessions } from "./sessions/sessions.js";
import { defaultSettings, type Settings } from "./settings.js";
import { DeviceSockets } from "./sockets/device-sockets.js";
import { Heartbeat } from "./sockets/heartbeat.js";
import { type SocketLimits, socketLimits } from "./sockets/limits.js";
import { monitorCommands } from "./sockets/monitor-commands.js";
import { MonitorSockets } from "./sockets/monitor-sockets.js";
import { Upgrades } from "./sockets/upgrades.js";
import { errorCode, StartError } from "./start-error.js";
import { createLog } from "./telemetry/log.js";
import { createMetrics } from "./telemetry/metrics.js";
import { telemetryRoutes } from "./telemetry/routes.js";

/** Settings that are left out have their defaults. */
export interface GatewayOptions extends Partial<Settings> {
	readonly log?: Logger;
	/** Milliseconds since 1970. */
	readonly now?: () => number;
	readonly limits?: Partial<SocketLimits>;
	/** Devices that are remembered while they are away. */
	readonly maxDevices?: number;
	readonly createFirmware?: CreateFirmwareRoom;
	/** Where the gateway's numbers go, besides what the process itself counts there. */
	readonly registry?: Registry;
}

export interface Listening {
	/** Where this gateway is reached, such as `http://127.0.0.1:8080`; no slash at its end. */
	readonly url: string;
	readonly port: number;
	/** Logs one person in to the dashboard, once, within an hour. */
	readonly loginUrl: string;
}

/**
 * Makes a gateway that does nothing yet.
 *
 * @throws StartError where its settings contradict each other or its certificate cannot be used
 */
export function createGateway(options: GatewayOptions = {}): Gateway {
	return new Gateway(options);
}

export class Gateway {
	readonly #tokens: Tokens;
	readonly #settings: Settings;
	readonly #limits: SocketLimits;
	readonly #log: Logger;
	readonly #access: Access;
	readonly #known: KnownDevices;
	readonly #sessions: Sessions;
	readonly #firmware: FirmwareRoom;
	readonly #heartbeat: Heartbeat;
	readonly #devices: DeviceSockets;
	readonly #monitors: MonitorSockets;
	readonly #upgrades: Upgrades;
	readonly #server: Server;
	#closing: Promise<void> | undefined;

	constructor(options: GatewayOptions) {
		const { now = Date.now, createFirmware = createFirmwareRoom, maxDevices = 10_000 } = options;
		const settings: Settings = { ...defaultSettings, ...options };
		const limits: SocketLimits = { ...socketLimits, ...options.limits };
		const log = options.log ?? createLog(settings.logLevel);
		if (!settings.auth && !isLoopback(settings.host))
			throw new StartError(
				`AUTH=off is for loopback alone, but HOST is ${settings.host}; leave AUTH out, or set HOST to 127.0.0.1.`,
			);
		this.#settings = settings;
		this.#limits = limits;
		this.#log = log;
		const tokens = new Tokens({
			dataDir: settings.dataDir,
			given: { device: settings.deviceToken, monitor: settings.monitorToken },
			disk,
			onProblem: (problem) => log.error({ problem }, "tokens"),
		});
		const { publicUrl } = settings;
		const access = new Access({ tokens, isOff: !settings.auth, publicUrl, log, now });
		const metrics = createMetrics(options.registry ?? new Registry());
		const records = new RecordFolder({
			directory: join(settings.dataDir, "devices"),
			disk,
			onProblem: (problem) => log.warn({ problem }, "known devices"),
			...deviceFile,
		});
		const known = new KnownDevices(records, now);
		const sessions = new Sessions({
			now,
			maxDevices,
			onChanged: (session, reason) => {
				const { sessionId, device, introduction } = session;
				const event = { sessionId, deviceId: device?.deviceId, remoteAddress: introduction.remoteAddress };
				log[reason === "ota" ? "debug" : "info"](event, `device: ${reason}`);
				this.#monitors.announce(session, reason);
				if (device && reason !== "ota") known.onSeen(device);
			},
			onNamed: (device) => this.#firmware.updates.onConnected(device),
			onUplink: (session, uplink, text) => {
				const isStateReport = uplink.type === "state_report";
				this.#monitors.relay(session, text, isStateReport);
				if (!session.device) return;
				if (isStateReport) known.onSeen(session.device);
				this.#firmware.updates.onUplink(session.device, uplink);
			},
			onForgotten: (device) => {
				log.info({ deviceId: device.deviceId }, "device: forgotten");
				void known.forget(device);
				this.#firmware.updates.forget(device.deviceId);
			},
		});
		const firmware = createFirmware({
			settings,
			access,
			log,
			now,
			setOta: (device, metadata) => {
				if (isOutcome(device, metadata)) metrics.updates.inc({ outcome: metadata.otaStatus });
				sessions.setOta(device, metadata);
			},
		});
		const heartbeat = new Heartbeat({
			intervalMs: limits.pingIntervalMs,
			unanswered: limits.unansweredPings,
		});
		const execute = monitorCommands({ sessions, updates: firmware.updates, log });
		this.#tokens = tokens;
		this.#access = access;
		this.#known = known;
		this.#sessions = sessions;
		this.#firmware = firmware;
		this.#heartbeat = heartbeat;
		this.#devices = new DeviceSockets({ sessions, heartbeat, limits, metrics, log, now });
		this.#monitors = new MonitorSockets({ sessions, execute, heartbeat, limits, metrics, log, now });
		this.#upgrades = new Upgrades({
			access,
			devices: this.#devices,
			monitors: this.#monitors,
			limits,
			publicUrl,
			metrics,
			log,
			now,
		});
		metrics.watch("gateway_sessions", "Devices that are connected", () => this.#devices.size);
		metrics.watch(
			"gateway_known_devices",
			"Devices that are known, connected or not",
			() => sessions.devices.size,
		);
		metrics.watch("gateway_monitors", "Monitors that are connected", () => this.#monitors.size);
		metrics.watch(
			"gateway_device_queue_bytes",
			"Bytes that devices have not read yet",
			() => this.#devices.backlog,
		);
		metrics.watch(
			"gateway_monitor_queue_bytes",
			"Bytes that monitors have not read yet",
			() => this.#monitors.backlog,
		);
		const requireMonitor = access.require("monitor");
		const announceAll = () => this.#monitors.announceAll();
		const devices = deviceRoutes(sessions, firmware.updates, requireMonitor, announceAll);
		const telemetry = telemetryRoutes(metrics, requireMonitor, () => this.#findObstacle());
		const app = createHttp({
			access,
			isTls: settings.tls !== undefined,
			deviceToken: () => tokens.current("device"),
			rooms: [telemetry, firmware.router, devices],
			log,
		});
		this.#server = createHttpServer(settings, limits.requestHeadersMs, (request, response) => {
			if (!firmware.binaries(request, response)) app(request, response);
		});
		this.#server.on("upgrade", (request, socket, head) => {
			this.#upgrades.handle(request, socket, head).catch((error: unknown) => {
				log.error({ err: error }, "upgrade failed");
				socket.destroy();
			});
		});
	}

	/** What devices and programs must show, for whoever started the gateway in this process; once it listens. */
	get tokens(): Readonly<Record<Role, string>> {
		return { device: this.#tokens.current("device"), monitor: this.#tokens.current("monitor") };
	}

	/**
	 * Starts to listen.
	 *
	 * @throws StartError where its data folder, its tokens or its address cannot be had
	 */
	async listen(): Promise<Listening> {
		const { host, port, tls, publicUrl, auth } = this.#settings;
		await this.#tokens.open();
		await this.#openData();
		this.#server.listen(port, host);
		try {
			await once(this.#server, "listening");
		} catch (error) {
			throw listenError(error, host, port);
		}
		// Such as too many open files: one client is not let in, which is no reason to drop all others.
		this.#server.on("error", (error) => this.#log.error({ err: error }, "connection not accepted"));
		const address = this.#server.address();
		const actualPort = typeof address === "object" && address ? address.port : port;
		const url = `${tls ? "https" : "http"}://${hostOf(reachableHost(host))}:${actualPort}`;
		if (!auth) this.#log.warn("AUTH=off: every program on this machine may steer and update the devices");
		this.#log.info({ url }, "listening");
		const base = (publicUrl?.href ?? url).replace(/\/+$/, "");
		return { url, port: actualPort, loginUrl: `${base}/login?code=${this.#access.makeLoginCode()}` };
	}

	/** @returns undefined, or a sentence that says why this gateway cannot do its work */
	async #findObstacle(): Promise<string | undefined> {
		if (this.#closing) return "The gateway is stopping.";
		const { dataDir } = this.#settings;
		try {
			await disk.access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
			const { bavail } = await disk.statfs(dataDir);
			return bavail > 0 ? undefined : "The data folder's disk is full.";
		} catch (error) {
			return `The data folder cannot be used (${errorCode(error)}).`;
		}
	}

	async #openData(): Promise<void> {
		const { dataDir } = this.#settings;
		try {
			await this.#firmware.open();
			this.#sessions.restore(await this.#known.open());
		} catch (error) {
			const code = errorCode(error);
			if (code === undefined) throw error;
			throw new StartError(
				`DATA_DIR is "${dataDir}", which cannot be used (${code}); set it to a folder of its own.`,
			);
		}
		for (const device of this.#sessions.devices.values()) this.#firmware.updates.onConnected(device);
	}

	/** Stops in order: sockets are closed with 1001, and whatever has not ended within 10 s is cut off. */
	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	async #close(): Promise<void> {
		this.#upgrades.close();
		this.#devices.close();
		this.#monitors.close();
		const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
		this.#server.closeIdleConnections();
		const cut = setTimeout(() => this.#server.closeAllConnections(), this.#limits.closeTimeoutMs);
		await closed;
		clearTimeout(cut);
		this.#devices.settle();
		this.#heartbeat.close();
		await this.#firmware.close();
		await this.#known.close();
		this.#log.info("stopped");
	}
}

/** @param headersMs a client that connects and does not finish its handshake or headers in that time is cut off */
function createHttpServer(settings: Settings, headersMs: number, listener: RequestListener): Server {
	const timeouts = { headersTimeout: headersMs, connectionsCheckingInterval: headersMs / 2 };
	if (!settings.tls) return createServer(timeouts, listener);
	try {
		return createTlsServer({ ...timeouts, ...settings.tls, handshakeTimeout: headersMs }, listener);
	} catch (error) {
		const why = error instanceof Error ? error.message : "unknown";
		throw new StartError(
			`TLS_CERT and TLS_KEY cannot be used (${why}); set them to a certificate and its key in PEM.`,
		);
	}
}

/** Whether an update ends here: not where how it ended is only remembered, after a restart of the gateway. */
function isOutcome(device: Device, { otaStatus }: OtaMetadata): boolean {
	const isNews = device.metadata.otaStatus !== otaStatus;
	const wasKnown = device.session.connected || device.metadata.otaStatus !== "idle";
	return isNews && wasKnown && ["updated", "rolled_back", "failed"].includes(otaStatus);
}

/** An address to connect to, where `host` may stand for all addresses of this machine. */
function reachableHost(host: string): string {
	return host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
}

function listenError(error: unknown, host: string, port: number): unknown {
	const where = `${hostOf(host)}:${port}`;
	switch (errorCode(error)) {
		case "EADDRINUSE":
			return new StartError(`${where} is in use by another program; stop that, or set PORT to a free port.`);
		case "EACCES":
			return new StartError(`This user may not listen on ${where}; set PORT to 1024 or above.`);
		case "EADDRNOTAVAIL":
		case "ENOTFOUND":
		case "EAI_AGAIN":
			return new StartError(
				`HOST is ${host}, which is no address of this machine; set it to one, or to 0.0.0.0 for all.`,
			);
		default:
			return error;
	}
}
