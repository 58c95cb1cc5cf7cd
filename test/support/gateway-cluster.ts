/** Gateway processes on one bus behind haproxy, which tests kill, stop and cut off. */

import { join } from "node:path";
import type { TestContext } from "node:test";
import { call } from "./call.js";
import { temporaryDirectory } from "./cleanup.js";
import { eventually } from "./eventually.js";
import { FaultyLink } from "./faulty-link.js";
import { GatewayProcess } from "./gateway-process.js";
import { deviceToken, monitorToken } from "./gateway-settings.js";
import { runHaproxy } from "./haproxy.js";
import { isNatsOld, type NatsServer, startNats, startNatsCluster } from "./nats.js";
import { freePort } from "./ports.js";
import { whyMissing } from "./programs.js";

/** Reason to skip tests that use it. */
export const clusterMissing = whyMissing("nats-server", "haproxy");

export interface ClusterOptions {
	readonly gateways: number;
	/** One server, or three that replicate. */
	readonly servers: 1 | 3;
	/** Data folder of all gateways. Default: an empty folder. */
	readonly releasesDir?: string;
	/** Additional variables of all gateways. */
	readonly environment?: Readonly<Record<string, string>>;
}

export interface GatewayCluster {
	/** Port of haproxy. */
	readonly url: string;
	readonly servers: readonly NatsServer[];
	readonly gateways: readonly ClusterGateway[];
	readonly releasesDir: string;
}

export class ClusterGateway extends GatewayProcess {
	/** Links to the servers by their ports. */
	readonly #links: ReadonlyMap<number, FaultyLink>;

	/** @param environment without its servers @param links to the servers by their ports */
	constructor(
		t: TestContext,
		port: number,
		environment: Readonly<Record<string, string>>,
		links: ReadonlyMap<number, FaultyLink>,
	) {
		const urls = [...links.values()].map((link) => `nats://127.0.0.1:${link.port}`);
		super(t, port, { ...environment, NATS_URL: urls.join(",") });
		this.#links = links;
	}

	/** Disconnects it from the servers. */
	cut(): void {
		for (const link of this.#links.values()) link.route(undefined);
	}

	heal(): void {
		for (const [port, link] of this.#links) link.route(port);
	}

	/** Sends a request to a path below /api/ as a monitor, like `call`. */
	call<T>(method: string, path: string, body?: object): Promise<T> {
		return call(this.url, method, path, body);
	}

	/** Resolves once it knows a release. */
	async knows(version: string): Promise<void> {
		const read = () =>
			this.call<{ readonly releases: readonly { version: string }[] }>("GET", "../ota/catalog");
		await eventually(read, ({ releases }) => releases.some((release) => release.version === version));
	}
}

export async function startCluster(t: TestContext, options: ClusterOptions): Promise<GatewayCluster> {
	const directory = await temporaryDirectory(t);
	const { gateways: count, releasesDir = join(directory, "releases") } = options;
	// Otherwise a gateway would learn addresses that cannot be cut off.
	const servers = options.servers === 1 ? [await startNats(t)] : await startNatsCluster(t, "--no_advertise");
	const gateways: ClusterGateway[] = [];
	for (let index = 0; index < count; index++) {
		const links = new Map<number, FaultyLink>();
		for (const { port } of servers) links.set(port, await FaultyLink.to(t, port));
		const environment = {
			DATA_DIR: join(directory, `gateway-${index}`),
			RELEASES_DIR: releasesDir,
			DEVICE_TOKEN: deviceToken,
			MONITOR_TOKEN: monitorToken,
			TRUST_PROXY: "127.0.0.1",
			LOG_LEVEL: "info",
			NATS_ALLOW_OLD: isNatsOld ? "1" : "0",
			IMAGE_CHECK: "off",
			...options.environment,
		};
		gateways.push(new ClusterGateway(t, await freePort(), environment, links));
	}
	await Promise.all(gateways.map((gateway) => gateway.start()));
	const port = await runHaproxy(
		t,
		"mode http",
		"option forwardfor",
		"timeout tunnel 1h",
		"retries 1",
		"option redispatch",
		"balance leastconn",
		"option httpchk GET /readyz",
		"default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions",
		...gateways.map((gateway) => `server g${gateway.port} 127.0.0.1:${gateway.port}`),
	);
	const url = `http://127.0.0.1:${port}`;
	return { url, servers, gateways, releasesDir };
}
