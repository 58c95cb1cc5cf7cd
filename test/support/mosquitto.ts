/** A real MQTT broker, on a free port of 127.0.0.1, ended with the test. It keeps nothing on disk. */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { onEnd, temporaryDirectory } from "./cleanup.js";
import { nextEvent, waitUntil } from "./eventually.js";
import { freePort, isListening } from "./ports.js";

/** Debian installs it where a user's PATH does not lead. */
const environment = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` };

/** Why tests with a broker are skipped; false if it is installed. */
export const brokerMissing = findsBroker() ? false : "mosquitto is not installed (apt-get install mosquitto)";

function findsBroker(): boolean {
	try {
		execFileSync("mosquitto", ["-h"], { env: environment, stdio: "ignore" });
	} catch (error) {
		// Its help ends with an error.
		return Object(error).code !== "ENOENT";
	}
	return true;
}

export interface Mosquitto {
	/** Of the setting `mqtt`. */
	readonly settings: {
		readonly url: string;
		readonly username: string | undefined;
		readonly password: string | undefined;
		readonly authority: Buffer | undefined;
		readonly prefix: string;
	};
	/** Resolves once it takes connections. */
	start(): Promise<void>;
	/** Reads its access list again. */
	reload(): void;
	/** kill -9; what it has retained is lost. */
	kill(): Promise<void>;
}

/** @param configuration of its listener: by default it asks for no password */
export async function startMosquitto(
	t: TestContext,
	configuration = "allow_anonymous true",
): Promise<Mosquitto> {
	const port = await freePort();
	const file = join(await temporaryDirectory(t), "mosquitto.conf");
	// With 0, for no limit, Mosquitto 2.0.11 ends a connection of which it has refused a message.
	await writeFile(file, `listener ${port} 127.0.0.1\n${configuration}\nmax_queued_messages 100000\n`);
	let child: ChildProcess | undefined;
	const broker: Mosquitto = {
		settings: {
			url: `mqtt://127.0.0.1:${port}`,
			username: undefined,
			password: undefined,
			authority: undefined,
			prefix: "homeassistant",
		},
		start: async () => {
			const started = spawn("mosquitto", ["-c", file], {
				env: environment,
				stdio: ["ignore", "ignore", "pipe"],
			});
			child = started;
			let errors = "";
			started.stderr.on("data", (chunk) => {
				errors += chunk;
			});
			await waitUntil(() => {
				assert.equal(started.exitCode, null, `mosquitto ended: ${errors}`);
				return isListening(port);
			});
			assert.equal(started.exitCode, null, `another process listens on port ${port}: ${errors}`);
		},
		reload: () => void child?.kill("SIGHUP"),
		kill: async () => {
			if (!child || child.exitCode !== null || child.signalCode !== null) return;
			child.kill("SIGKILL");
			await nextEvent(child, "exit");
		},
	};
	onEnd(t, () => broker.kill());
	await broker.start();
	return broker;
}

/** Started by root it takes another user, who cannot read a test's files. */
const asRoot = "user root";

/** Of Debian's package, in the folder of the machine's kind. */
const dynamicSecurity = ["/usr/lib", "/usr/local/lib"]
	.filter((folder) => existsSync(folder))
	.flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))])
	.map((folder) => join(folder, "mosquitto_dynamic_security.so"))
	.find((file) => existsSync(file));
export const pluginMissing = dynamicSecurity ? false : "mosquitto's dynamic security plugin is not installed";

/** @returns the configuration of a listener that refuses subscriptions to a topic, which no access list does */
export async function rejectingSubscription(t: TestContext, topic: string): Promise<string> {
	const file = join(await temporaryDirectory(t), "security.json");
	const acls = [{ acltype: "subscribeLiteral", topic, allow: false, priority: 0 }];
	const config = {
		defaultACLAccess: {
			publishClientSend: true,
			publishClientReceive: true,
			subscribe: true,
			unsubscribe: true,
		},
		anonymousGroup: "all",
		groups: [{ groupname: "all", roles: [{ rolename: "most" }] }],
		roles: [{ rolename: "most", acls }],
		clients: [],
	};
	await writeFile(file, JSON.stringify(config));
	return `${asRoot}\nallow_anonymous true\nplugin ${dynamicSecurity}\nplugin_opt_config_file ${file}`;
}

/** @returns the configuration of a listener with this access list, and a function that replaces the list */
export async function withAccessList(t: TestContext, list: string) {
	const file = join(await temporaryDirectory(t), "list");
	const write = (lines: string) => writeFile(file, `${lines}\n`, { mode: 0o600 });
	await write(list);
	return { configuration: `${asRoot}\nallow_anonymous true\nacl_file ${file}`, write };
}

/** @returns the configuration of a listener with TLS that asks for a password */
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
	execFileSync("mosquitto_passwd", ["-b", "-c", path("passwords"), username, password], { env: environment });
	const lines = [
		`password_file ${path("passwords")}`,
		`certfile ${path("cert.pem")}`,
		`keyfile ${path("key.pem")}`,
	];
	return [...lines, asRoot].join("\n");
}
