/** Real MQTT broker on a free port of 127.0.0.1, ended with the test. It persists nothing. */

import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { temporaryDirectory } from "./cleanup.js";
import { freePort } from "./ports.js";
import { pathOf } from "./programs.js";
import { type ServerProgram, startServer } from "./server-program.js";

export interface Mosquitto {
	/** URL for the setting `mqtt`. */
	readonly settings: {
		readonly url: string;
		readonly username: string | undefined;
		readonly password: string | undefined;
		readonly authority: Buffer | undefined;
		readonly prefix: string;
	};
	/** Resolves once it accepts connections. */
	start(): Promise<void>;
	/** Kills it (SIGKILL). Its retained messages are lost. */
	kill(): Promise<void>;
}

/** @param configuration of its listener; default: no password */
export async function startMosquitto(
	t: TestContext,
	configuration = "allow_anonymous true",
): Promise<Mosquitto> {
	const port = await freePort();
	const file = join(await temporaryDirectory(t), "mosquitto.conf");
	// If it is 0 (no limit), Mosquitto 2.0.11 closes a connection after it has rejected a message of it.
	await writeFile(file, `listener ${port} 127.0.0.1\n${configuration}\nmax_queued_messages 100000\n`);
	let program: ServerProgram | undefined;
	const broker: Mosquitto = {
		settings: {
			url: `mqtt://127.0.0.1:${port}`,
			username: undefined,
			password: undefined,
			authority: undefined,
			prefix: "homeassistant",
		},
		start: async () => {
			program = await startServer(t, port, "mosquitto", "-c", file);
		},
		kill: async () => program?.end(),
	};
	await broker.start();
	return broker;
}

/** Keeps Mosquitto running as root: it would switch to a user who cannot read a test's files. */
const asRoot = "user root";

/** @returns listener configuration with TLS and a password */
export async function withTls(
	t: TestContext,
	{ cert, key }: { readonly cert: string; readonly key: string },
	username: string,
	password: string,
): Promise<string> {
	const folder = await temporaryDirectory(t);
	const path = (name: string) => join(folder, name);
	await writeFile(path("cert.pem"), cert);
	await writeFile(path("key.pem"), key);
	execFileSync(pathOf("mosquitto_passwd"), ["-b", "-c", path("passwords"), username, password]);
	const lines = [
		`password_file ${path("passwords")}`,
		`certfile ${path("cert.pem")}`,
		`keyfile ${path("key.pem")}`,
	];
	return [...lines, asRoot].join("\n");
}
