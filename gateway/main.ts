/**
 * Entry point of `npm start`: reads the environment, runs the gateway, and stops it on a signal. Prints a StartError
 * without a stack trace.
 */

import { join } from "node:path";
import { isatty } from "node:tty";
import { Registry } from "prom-client";
import { loadExtensions, settingsOf } from "./extensions.js";
import { Gateway } from "./gateway.js";
import { createFragmentListsLazily } from "./heap.js";
import { deviceAddresses } from "./http/server.js";
import { rejectArguments, StartError } from "./problem.js";
import { readSettings, type Settings } from "./settings.js";
import { createLog } from "./telemetry/log.js";
import { collectProcessMetrics } from "./telemetry/metrics.js";

/** Help text: the variables and their descriptions, without the links of the README. */
function usage(): string {
	const lines = settingsOf().map(([name, { byDefault, description }]) => {
		const standard = byDefault === undefined ? "" : ` (default: ${byDefault})`;
		const text = `${description}${standard}`.replaceAll(/;? ?see \[[^\]]*\]\([^)]*\)|`/g, "");
		return `  ${name}\n      ${text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")}`;
	});
	return `Usage: npm start

Runs the gateway. Settings come from the environment, such as PORT=8090 npm start:

${lines.join("\n")}

See gateway/README.md for details.`;
}

/** Interval in which two signals count as one key press, since npm forwards a Ctrl-C that the terminal also sends. */
const samePressMs = 500;

// A full disk or a closed pipe must not stop the gateway.
process.stdout.on("error", () => {});
process.stderr.on("error", () => {});

try {
	await start();
} catch (error) {
	if (!(error instanceof StartError)) throw error;
	console.error(error.message);
	process.exitCode = 1;
}

async function start(): Promise<void> {
	const commandLine = process.argv.slice(2);
	if (commandLine.includes("--help") || commandLine.includes("-h")) return console.log(usage());
	createFragmentListsLazily();
	rejectArguments(commandLine);
	const hasTerminal = isatty(0);
	const settings = readSettings(process.env);
	const registry = new Registry();
	collectProcessMetrics(registry);
	const log = createLog(settings.logLevel);
	// Handles unhandled rejections, too. The state of the process is unknown, so its supervisor must restart it.
	process.on("uncaughtException", (error) => {
		log.fatal({ err: error }, "fatal error, exiting (please report this bug)");
		process.exit(1);
	});
	const gateway = new Gateway({ ...settings, registry, log, ...(await loadExtensions(process.env, log)) });
	const { url, port, loginUrl } = await gateway.listen();
	console.log(settings.auth ? `Dashboard  ${loginUrl}  (valid once, for an hour)` : `Dashboard  ${url}/`);
	for (const address of deviceAddresses(settings, port)) console.log(`Devices    ${address}`);
	console.log(`Firmware   ${describeSigning(settings)}`);
	if (settings.auth) console.log(`Tokens     ${tokenLocation(settings)}`);

	let firstSignalAt: number | undefined;
	const stop = () => {
		firstSignalAt ??= performance.now();
		if (performance.now() - firstSignalAt > samePressMs) process.exit(1);
		gateway.close().then(() => process.exit(0));
	};
	process.on("SIGINT", stop);
	process.on("SIGTERM", stop);
	// SIGHUP: closing the terminal stops the gateway; a daemon reloads its certificate.
	process.on("SIGHUP", hasTerminal ? stop : () => void gateway.reload());
}

function describeSigning({ releaseKeys }: Settings): string {
	return releaseKeys.length > 0
		? "must be signed by a key in RELEASE_KEYS"
		: "unsigned firmware allowed: anyone with the monitor token can install arbitrary code (set RELEASE_KEYS)";
}

function tokenLocation({ deviceToken, monitorToken, dataDir }: Settings): string {
	return deviceToken && monitorToken ? "DEVICE_TOKEN and MONITOR_TOKEN" : join(dataDir, "tokens.json");
}
