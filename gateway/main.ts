/**
 * `npm start`: reads the environment, runs the gateway, and stops it on a signal. A StartError is printed without a
 * stack trace.
 */

import { join } from "node:path";
import { isatty } from "node:tty";
import { Registry } from "prom-client";
import { loadExtensions } from "./extensions.js";
import { Gateway } from "./gateway.js";
import { makeFragmentListsLate } from "./heap.js";
import { deviceAddresses } from "./http/server.js";
import { refuseArguments, StartError } from "./problem.js";
import { readSettings, type Settings } from "./settings.js";
import { createLog } from "./telemetry/log.js";
import { collectProcessMetrics } from "./telemetry/metrics.js";

const usage = `Usage: npm start

Runs the gateway. Settings come from the environment, such as PORT=8090 npm start:

  HOST, PORT                    where it listens; default: 127.0.0.1 and 8080
  TLS_CERT, TLS_KEY             PEM files, for https and wss; SIGHUP reloads them
  DATA_DIR, RELEASES_DIR        folders; default: data and releases
  DEVICE_TOKEN, MONITOR_TOKEN   default: those in the data folder, made at the first start
  PUBLIC_URL, TRUST_PROXY       behind a proxy
  MDNS                          off: devices do not find the gateway by multicast DNS
  RELEASE_KEYS                  PEM file of the public keys by one of which firmware must be signed
  SPEECH_COMMAND                a program that speaks announcements: text in, WAV out
  DECODE_COMMAND                a program that decodes sounds of any format: a file in, WAV out
  WEBHOOKS_FILE                 JSON: programs that get an event when something happens
  TZ                            zone of schedules and quiet hours, such as Europe/Berlin
  MAX_UPLOAD, LOG_LEVEL, AUTH, IMAGE_CHECK
  NATS_URL                      servers of NATS: several gateways act as one
  NATS_CREDS, NATS_CA           files: credentials, and the authority's certificate for tls:// addresses
  NATS_ALLOW_OLD                1: also servers below 2.11
  MQTT_URL                      broker of Home Assistant, in which all devices appear: mqtt:// or mqtts://
  MQTT_USERNAME, MQTT_PASSWORD, MQTT_CA_FILE, MQTT_DISCOVERY_PREFIX
  GATEWAY_NAME                  this one of them, in logs and on the page; default: its host and port

gateway/README.md describes each of them.`;

/** npm forwards a Ctrl-C that the terminal sends as well: one key press arrives twice. */
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
	const words = process.argv.slice(2);
	if (words.includes("--help") || words.includes("-h")) return console.log(usage);
	makeFragmentListsLate();
	refuseArguments(words);
	const hasTerminal = isatty(0);
	const settings = readSettings(process.env);
	const registry = new Registry();
	collectProcessMetrics(registry);
	const log = createLog(settings.logLevel);
	// Also for an unhandled rejection. The process's state is unknown: its supervisor must restart it.
	process.on("uncaughtException", (error) => {
		log.fatal({ err: error }, "the gateway ends: a defect, please report it");
		process.exit(1);
	});
	const gateway = new Gateway({ ...settings, registry, log, ...(await loadExtensions(settings, log)) });
	const { url, port, loginUrl } = await gateway.listen();
	console.log(
		settings.auth ? `Dashboard  ${loginUrl}  (logs in once, within an hour)` : `Dashboard  ${url}/`,
	);
	for (const address of deviceAddresses(settings, port)) console.log(`Devices    ${address}`);
	console.log(`Firmware   ${describeSigning(settings)}`);
	if (settings.auth) console.log(`Tokens     ${whereTokensAre(settings)}`);

	let firstSignalAt: number | undefined;
	const stop = () => {
		firstSignalAt ??= performance.now();
		if (performance.now() - firstSignalAt > samePressMs) process.exit(1);
		gateway.close().then(() => process.exit(0));
	};
	process.on("SIGINT", stop);
	process.on("SIGTERM", stop);
	// A closed terminal stops the gateway, a daemon reloads.
	process.on("SIGHUP", hasTerminal ? stop : () => void gateway.reload());
}

function describeSigning({ releaseKeys }: Settings): string {
	return releaseKeys.length > 0
		? "must be signed by a key in RELEASE_KEYS"
		: "need not be signed: anyone with the monitor token can put any on every device (RELEASE_KEYS is not set)";
}

function whereTokensAre({ deviceToken, monitorToken, dataDir }: Settings): string {
	return deviceToken && monitorToken ? "DEVICE_TOKEN and MONITOR_TOKEN" : join(dataDir, "tokens.json");
}
