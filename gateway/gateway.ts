/** A gateway: starts the core and its extensions, listens, and stops them. */

import { loginRouter } from "./access/login.js";
import { trimmed } from "./access/origin.js";
import { peopleRoutes } from "./access/people.js";
import type { Role } from "./access/tokens.js";
import { createCore, type GatewayOptions } from "./core.js";
import { createApp } from "./http/app.js";
import { createFront } from "./http/front.js";
import { end, listen } from "./http/server.js";
import { requireSafe } from "./settings.js";
import { DeviceSockets } from "./sockets/device-sockets.js";
import { Drain } from "./sockets/drain.js";
import { startHeartbeat } from "./sockets/heartbeat.js";
import { createUpgrades } from "./sockets/upgrades.js";
import { FolderLock, findDiskProblem, usable } from "./storage/data-folder.js";
import { telemetryRoutes } from "./telemetry/routes.js";

export type { GatewayOptions } from "./core.js";

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
	const core = createCore(options);
	const { settings, limits, log, disk, monotonic, access, tokens, endedLogins, sessions } = core;
	const { deviceStore, firmware, monitors, metrics, extensions, answerError, socketsOptions, listening } =
		core;
	const { dataDir, tls, publicUrl } = settings;
	requireSafe(settings);
	/** Requests wait for the data. */
	let opening: Promise<void> | undefined;
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
	const guard = extensions.find((extension) => extension.guard)?.guard;
	const heartbeat = startHeartbeat(limits.pingIntervalMs, limits.unansweredPings, monotonic);
	const devices = new DeviceSockets(socketsOptions);
	const upgrades = createUpgrades({
		...socketsOptions,
		access,
		devices,
		monitors,
		heartbeat,
		publicUrl,
		guard,
	});
	const findReadinessProblem = async () => {
		if (closing) return "The gateway is stopping.";
		const parts = [deviceStore, firmware.updates, ...extensions];
		const problem = parts.map(({ readinessProblem }) => readinessProblem).find((each) => each !== undefined);
		return problem ?? findDiskProblem(disk, dataDir);
	};
	const app = createApp({
		isTls: tls !== undefined,
		routers: [
			...extensions.flatMap(({ routes }) => routes ?? []),
			telemetryRoutes(metrics, core.requirePerson, findReadinessProblem),
			firmware.router,
			peopleRoutes({ access, tokens, storage: core.storage }),
			loginRouter(access),
		],
		answerError,
	});
	const server = createFront({
		settings,
		limits,
		guard,
		access,
		binaries: firmware.binaries,
		app,
		upgrades,
		opening: () => opening,
		log,
	});

	const openData = async () => {
		await endedLogins.open();
		await firmware.open();
		sessions.restore(await deviceStore.open());
		for (const device of sessions.devices.values()) firmware.updates.onConnected(device);
		for (const extension of extensions) await extension.open?.();
	};
	const sendAway = async () => {
		const { devicesASecond: admittedASecond } = limits;
		const drain = new Drain({ devices: devices.count, admittedASecond, monotonic });
		upgrades.close(drain);
		guard?.close();
		// Before the devices: a page keeps showing what it last knew, as it does when the process is killed.
		monitors.close();
		await devices.drain(drain);
		await end(server, limits.closeTimeoutMs);
	};
	const closeParts = async () => {
		heartbeat.close();
		for (const extension of extensions.toReversed()) await extension.close?.();
		await firmware.close();
		await deviceStore.close();
		await endedLogins.close();
		await core.peers.close();
		await lock.release();
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
		await closeParts();
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
			let url: string;
			try {
				await usable(
					dataDir,
					core.peers.openTokens(tokens, (problem) => log.warn({ problem }, "tokens")),
				);
				await tokens.open();
				({ url, port: listening.port } = await listen(server, settings));
				// Such as too many open files: one client is refused, the others stay.
				server.on("error", (error) => log.error({ err: error }, "connection not accepted"));
				opening = usable(dataDir, openData());
				await opening;
				opening = undefined;
			} catch (error) {
				server.close();
				await closeParts();
				throw error;
			}
			if (!settings.auth)
				log.warn("AUTH=off: every program on this machine may control and update the devices");
			log.info({ url }, "listening");
			const base = publicUrl ? trimmed(publicUrl) : url;
			return { url, port: listening.port, loginUrl: `${base}/login?code=${access.makeLoginCode()}` };
		},

		/** Closes monitors with 1001, then devices with 1012, writes all data, and cuts off the rest after 10 s. */
		close: (): Promise<void> => stop(),
	};
}
