/**
 * NATS servers for tests: one, or three as a cluster, on free ports of 127.0.0.1 with a JetStream folder each, ended
 * with the test.
 */

import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { coerce, lt, type SemVer } from "semver";
import { type Owner, temporaryDirectory } from "./cleanup.js";
import { freePort } from "./ports.js";
import { findOptional, pathOf, testMachine } from "./programs.js";
import { type ServerProgram, startProgram } from "./server-program.js";

/** Time in which a server that was killed reads JetStream's files again, which takes a busy computer seconds. */
const startMs = 90_000;

const version = findVersion();

/** Version that gateways reject without NATS_ALLOW_OLD, such as Debian 12's. */
export const isNatsOld = version !== undefined && lt(version, "2.11.0");

function findVersion(): SemVer | undefined {
	const path = findOptional("nats-server");
	return coerce(path && testMachine.run(path, ["--version"])) ?? undefined;
}

export interface NatsServer {
	/** nats://127.0.0.1:<port> */
	readonly url: string;
	readonly port: number;
	readonly pid: number;
	/** Folder of JetStream's files. */
	readonly directory: string;
	/** Resolves once it accepts connections; JetStream may take longer. No effect if it runs. @throws after 90 s */
	start(): Promise<void>;
	/**
	 * Resolves once JetStream is ready. @param limitMs default: 90 s @throws after that time, with the server's last
	 * lines
	 */
	ready(limitMs?: number): Promise<void>;
	/** Kills it (SIGKILL). */
	kill(): Promise<void>;
	/** Suspends it like a machine that hangs: its sockets stay open. */
	suspend(): void;
	resume(): void;
}

/** @param options additional command line options */
export async function startNats(t: Owner, ...options: readonly string[]): Promise<NatsServer> {
	const [server] = await startAll(t, 1, options);
	if (!server) throw new Error("no server");
	return server;
}

/**
 * Starts three servers as one cluster. Resolves once JetStream has a leader. @param options additional command line
 * options
 */
export async function startNatsCluster(
	t: Owner,
	...options: readonly string[]
): Promise<readonly NatsServer[]> {
	return startAll(t, 3, options);
}

async function startAll(t: Owner, count: number, options: readonly string[]): Promise<readonly NatsServer[]> {
	const directory = await temporaryDirectory(t);
	const ports = await Promise.all(Array.from({ length: count * 3 }, freePort));
	const routes = ports.slice(0, count).map((port) => `nats-route://127.0.0.1:${port}`);
	const servers = routes.map((_, index) => {
		const [route = 0, port = 0, monitor = 0] = [index, index + count, index + 2 * count].map(
			(at) => ports[at],
		);
		const cluster = [
			`--cluster_name=test`,
			`--cluster=nats://127.0.0.1:${route}`,
			`--routes=${routes.join()}`,
		];
		const words = [`--name=s${index}`, "--addr=127.0.0.1", `--port=${port}`, `--http_port=${monitor}`];
		const own = join(directory, String(index));
		const store = [`--store_dir=${own}`, "--jetstream"];
		const line = [...words, ...store, ...(count > 1 ? cluster : []), ...options];
		return serverOf(t, line, own, port, monitor);
	});
	await Promise.all(servers.map((server) => server.start()));
	await Promise.all(servers.map((server) => server.ready()));
	return servers;
}

function serverOf(
	t: Owner,
	words: readonly string[],
	directory: string,
	port: number,
	monitor: number,
): NatsServer {
	let program: ServerProgram | undefined;
	const answers = async (predicate: (status: number) => boolean, limitMs = startMs) => {
		const limit = AbortSignal.timeout(limitMs);
		for (;;) {
			const answer = await fetch(`http://127.0.0.1:${monitor}/healthz`, { signal: limit }).catch(
				() => undefined,
			);
			if (predicate(answer?.status ?? 0)) return;
			if (limit.aborted) throw new Error(`nats-server at port ${port} is not ready:\n${program?.said()}`);
			await pause(20);
		}
	};
	return {
		url: `nats://127.0.0.1:${port}`,
		port,
		directory,
		get pid() {
			return program?.child.pid ?? 0;
		},
		start: async () => {
			program ??= startProgram(t, pathOf("nats-server"), words);
			await answers((status) => status !== 0);
		},
		ready: (limitMs) => answers((status) => status === 200, limitMs),
		kill: async () => {
			const ended = program;
			program = undefined;
			await ended?.end();
		},
		suspend: () => void program?.child.kill("SIGSTOP"),
		resume: () => void program?.child.kill("SIGCONT"),
	};
}
