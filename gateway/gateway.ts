/** Gateway: creates the core and its extensions, starts them, listens, and stops them. */

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { Server as TlsServer } from "node:https";
import type { Duplex } from "node:stream";
import type { Express } from "express";
import { readForwarded, trimmed } from "./access/origin.js";
import type { Role } from "./access/tokens.js";
import { createCore, type GatewayOptions } from "./core.js";
import { createApp } from "./http/app.js";
import type { Guard } from "./http/guard.js";
import { createHealthRoutes } from "./http/health.js";
import { createLoginRoutes } from "./http/login.js";
import { createRouter } from "./http/routes.js";
import {
	closeServer,
	createHttpServer,
	deviceAddresses,
	ignoreUpgrade,
	isWebSocketUpgrade,
	keepAlive,
	listen,
} from "./http/server.js";
import { createTokenRoutes } from "./http/tokens.js";
import type { HttpRejection } from "./problem.js";
import { requireSafeAuth } from "./settings.js";
import { DeviceSockets } from "./sockets/device-sockets.js";
import { Drain } from "./sockets/drain.js";
import { Upgrades } from "./sockets/upgrades.js";
import { explainFolderErrors, lockFolder } from "./storage/data-folder.js";

export type { GatewayOptions } from "./core.js";

export interface Listening {
	/** Base URL without a trailing slash, such as `http://127.0.0.1:8080`. */
	readonly url: string;
	readonly port: number;
	/** Login link, valid once, for an hour. */
	readonly loginUrl: string;
}

export class Gateway {
	readonly #parts: ReturnType<typeof createCore>;
	/** Undefined: connections are not limited. */
	readonly #guard: Guard | undefined;
	readonly #devices: DeviceSockets;
	readonly #upgrades: Upgrades;
	readonly #app: Express;
	readonly #server: Server;
	#port: number;
	/** Releases the data folder. */
	#unlock = async () => {};
	/** Pending while data is loaded; requests wait for it. */
	#opening: Promise<void> | undefined;
	#closing: Promise<void> | undefined;

	/** @throws {StartError} if settings contradict each other */
	constructor(options: GatewayOptions = {}) {
		this.#parts = createCore(options, () => this.#port);
		const { core, extensions } = this.#parts;
		const { settings, limits } = core;
		requireSafeAuth(settings);
		// Fails early if devices do not support the address. With PORT=0 the port is not known yet.
		deviceAddresses(settings, settings.port || 1);
		this.#port = settings.port;
		this.#guard = extensions.find(({ guard }) => guard)?.guard;
		const { sessions } = core;
		const rejectionOf = (deviceId: string): HttpRejection | undefined => {
			for (const extension of extensions) {
				const detail = extension.rejectionOf?.(deviceId);
				if (detail !== undefined) return { status: 410, detail };
			}
			const detail = sessions.devices.has(deviceId) ? undefined : sessions.fullReason;
			return detail === undefined ? undefined : { status: 507, detail };
		};
		this.#devices = new DeviceSockets({ ...core, rejectionOf });
		const [devices, guard] = [this.#devices, this.#guard];
		this.#upgrades = new Upgrades({ ...core, devices, guard, rejectionOf });
		this.#app = this.#createApp();
		this.#server = createHttpServer(settings.tls !== undefined, limits, (request, response) =>
			this.#onRequest(request, response),
		);
		this.#guard?.watch(this.#server, settings.tls !== undefined);
		this.#server.on("upgrade", (...parameters) => this.#onUpgrade(...parameters));
	}

	/** Current tokens by role; valid after `listen`. */
	get tokens(): Readonly<Record<Role, string>> {
		const { tokens } = this.#parts.core;
		return { device: tokens.current("device"), monitor: tokens.current("monitor") };
	}

	/** Starts the gateway. @throws {StartError} if the data folder, tokens, certificate or address are unusable */
	async listen(): Promise<Listening> {
		const { settings, log, disk, peers, tokens, access, certificate } = this.#parts.core;
		const { dataDir, publicUrl } = settings;
		if (this.#server instanceof TlsServer) await certificate?.open(this.#server);
		const lock = lockFolder({
			directory: dataDir,
			disk,
			onLost: (problem) => {
				log.fatal({ problem }, "stopping");
				void this.close();
			},
			onProblem: (problem) => log.warn({ problem }, "data folder"),
		});
		this.#unlock = await explainFolderErrors(dataDir, lock);
		let url: string;
		try {
			const onProblem = (problem: string) => log.warn({ problem }, "tokens");
			await explainFolderErrors(dataDir, peers.openTokens(tokens, onProblem));
			await tokens.open();
			({ url, port: this.#port } = await listen(this.#server, settings));
			// Errors such as too many open files affect a single connection.
			this.#server.on("error", (error) => log.error({ err: error }, "accepting a connection failed"));
			this.#opening = explainFolderErrors(dataDir, this.#open());
			await this.#opening;
			this.#opening = undefined;
		} catch (error) {
			this.#server.close();
			await this.#closeParts();
			throw error;
		}
		if (!settings.auth) log.warn("AUTH=off: any program on this machine can control and update the devices");
		log.info({ url }, "listening");
		const base = publicUrl ? trimmed(publicUrl) : url;
		return { url, port: this.#port, loginUrl: `${base}/login?code=${access.logins.createCode()}` };
	}

	/** Reloads the TLS certificate now; it is also checked periodically. */
	async reload(): Promise<void> {
		await this.#parts.core.certificate?.reload();
	}

	/** Closes monitors with 1001, then devices with 1012, writes all data, and destroys remaining sockets after 10 s. */
	close(): Promise<void> {
		this.#closing ??= this.#close();
		return this.#closing;
	}

	#createApp(): Express {
		const { core, extensions } = this.#parts;
		const { settings, firmware, access, sendError } = core;
		const coreRoutes = [
			...createHealthRoutes(core, () => this.#findReadinessProblem()),
			...firmware.routes,
			...createTokenRoutes(core),
			...createLoginRoutes(access),
		];
		const routers = [
			...extensions.flatMap(({ routes = [], pages = [] }) => [createRouter(routes, access), pages].flat()),
			createRouter(coreRoutes, access),
		];
		return createApp({ isTls: settings.tls !== undefined, routers, sendError });
	}

	async #findReadinessProblem(): Promise<string | undefined> {
		if (this.#closing) return "The gateway is stopping.";
		const { core, extensions } = this.#parts;
		const problem = extensions.map(({ readinessProblem }) => readinessProblem).find(Boolean);
		return problem ?? core.findStorageProblem();
	}

	async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
		const { access, settings, limits, firmware } = this.#parts.core;
		const ready = this.#guard?.onRequest(request, response, access.isKnown(request));
		if (settings.trustProxy && readForwarded(request, settings.trustProxy))
			keepAlive(request, response, limits.proxyKeepAliveMs);
		if (this.#opening) await this.#opening.catch(() => response.destroy());
		if (ready) await ready;
		if (response.destroyed || firmware.binaries(request, response)) return;
		this.#app(request, response);
	}

	#onUpgrade(request: IncomingMessage, socket: Duplex, received: Buffer): void {
		const { settings, log } = this.#parts.core;
		const head = this.#guard?.release(socket, received) ?? received;
		if (!isWebSocketUpgrade(request)) return ignoreUpgrade(this.#server, request, socket, head);
		if (settings.trustProxy) readForwarded(request, settings.trustProxy);
		this.#upgrades.handle(request, socket, head, this.#opening).catch((error: unknown) => {
			log.error({ err: error }, "upgrade failed");
			socket.destroy();
		});
	}

	async #open(): Promise<void> {
		const { core, extensions } = this.#parts;
		const { access, firmware, sessions, deviceStore } = core;
		await access.open();
		await firmware.open();
		sessions.restore(await deviceStore.open());
		for (const device of sessions.devices.values()) firmware.updates.onConnected(device);
		for (const extension of extensions) await extension.open?.();
	}

	async #close(): Promise<void> {
		const { log, deviceStore } = this.#parts.core;
		log.info({ devices: this.#devices.count }, "stopping");
		// Concurrent, since slow devices must not delay writing.
		await Promise.all([deviceStore.settle(), this.#disconnectAll()]);
		this.#devices.settle();
		await this.#closeParts();
		log.info("stopped");
	}

	async #disconnectAll(): Promise<void> {
		const { limits, monotonic, monitors } = this.#parts.core;
		const { devicesASecond: admittedASecond } = limits;
		const drain = new Drain({ devices: this.#devices.count, admittedASecond, monotonic });
		this.#upgrades.close(drain);
		this.#guard?.close();
		// Monitors are closed first, so that dashboards do not show all devices as disconnected.
		monitors.close();
		await this.#devices.drain(drain);
		await closeServer(this.#server, limits.closeTimeoutMs);
	}

	async #closeParts(): Promise<void> {
		const { core, extensions } = this.#parts;
		core.certificate?.close();
		for (const extension of extensions.toReversed()) await extension.close?.();
		await core.firmware.close();
		await core.deviceStore.close();
		await core.closeRecords();
		await core.peers.close();
		await this.#unlock();
	}
}
