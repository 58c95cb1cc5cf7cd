/** `npm run log`: prints the live log of a device, over the gateway, until its time is over. */

import { parseArgs } from "node:util";
import { WebSocket } from "ws";
import { deviceId as deviceIdSchema, longestLogSeconds, uplinks } from "../device/protocol/messages.js";
import { isRecord, matches } from "../device/protocol/schema.js";
import { newLines } from "../gateway/api/client/trace-lines.js";
import { printable } from "../gateway/telemetry/printable.js";
import { runCommand, UsageError } from "./command-line/command.js";
import { findGatewayToken } from "./command-line/gateway-token.js";

const usage = `Usage: npm run log -- dev-1-a1b2c3 [--gateway http://127.0.0.1:8080] [--seconds ${longestLogSeconds}]

Prints what the firmware of a device traces, from the last 2 KB on, until the seconds are over or Ctrl-C. The monitor token is
MONITOR_TOKEN, or that in the data folder (DATA_DIR, or data) of the gateway on this computer.`;

const options = {
	gateway: { type: "string", default: "http://127.0.0.1:8080" },
	seconds: { type: "string", default: String(longestLogSeconds) },
} as const;

/** The request id of the subscription. */
const subscribing = "subscribe";

await runCommand({ name: "log", usage, options: Object.keys(options), run });

async function run(words: readonly string[]): Promise<void> {
	const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
	const [deviceId] = positionals;
	if (positionals.length > 1) throw new UsageError("One device at a time.");
	if (!matches(deviceIdSchema, deviceId))
		throw new UsageError(deviceId ? `"${deviceId}" is not a device id.` : "The device id is missing.");
	const seconds = Number(values.seconds);
	if (!(Number.isInteger(seconds) && seconds > 0 && seconds <= longestLogSeconds))
		throw new UsageError(`--seconds must be a whole number from 1 to ${longestLogSeconds}.`);
	await printLog({
		deviceId,
		seconds,
		address: monitorAddress(values.gateway),
		token: findGatewayToken("monitor"),
	});
}

/** To the uplinks of the device alone. Its answer says that the device's gateway sends them here. */
function subscription(deviceId: string): object {
	return { type: "subscribe", summary: false, devices: [deviceId], requestId: subscribing };
}

interface LogOptions {
	readonly deviceId: string;
	readonly seconds: number;
	readonly address: URL;
	readonly token: string;
}

/** Resolves when the time is over. Asks again where the device connects again meanwhile. */
function printLog({ deviceId, seconds, address, token }: LogOptions): Promise<void> {
	const endsAt = Date.now() + seconds * 1000;
	const socket = new WebSocket(address, { headers: { Authorization: `Bearer ${token}` } });
	let last: string | undefined;
	const ask = (level: "info" | "off") => {
		const left = Math.ceil((endsAt - Date.now()) / 1000);
		const payload = { command: "set_log", level, seconds: Math.max(0, Math.min(left, longestLogSeconds)) };
		socket.send(JSON.stringify({ type: "control_device", targetId: deviceId, payload }));
	};
	return new Promise((resolve, reject) => {
		const end = () => {
			if (socket.readyState === WebSocket.OPEN) ask("off");
			socket.close();
			resolve();
		};
		const timer = setTimeout(end, seconds * 1000);
		process.once("SIGINT", end);
		socket.on("open", () => socket.send(JSON.stringify(subscription(deviceId))));
		socket.on("error", ({ message }) => reject(new Error(describeFailure(address, message))));
		socket.on("close", (code) => {
			clearTimeout(timer);
			process.removeListener("SIGINT", end);
			reject(new Error(`The gateway ended the connection (${code}).`));
		});
		socket.on("message", (data) => {
			const frame: unknown = JSON.parse(data.toString());
			if (!isRecord(frame)) return;
			// A gateway whose monitors cannot subscribe sends them everything.
			if (frame.requestId === subscribing) return ask("info");
			if (frame.type === "error") {
				reject(new Error(String(frame.message)));
				return socket.close();
			}
			if (isConnectionOf(deviceId, frame)) return ask("info");
			if (frame.deviceId !== deviceId || !matches(uplinks.log, frame.message)) return;
			const lines = newLines({ last: last === undefined ? undefined : { text: last } }, frame.message);
			last = lines.at(-1) ?? last;
			for (const line of lines) console.log(printable(line));
		});
	});
}

function describeFailure({ origin }: URL, message: string): string {
	if (/ 40[13]$/.test(message))
		return `${origin} refuses the monitor token; set MONITOR_TOKEN, or DATA_DIR to the data folder of that gateway.`;
	return `${origin} cannot be reached: ${message}.`;
}

/** Whether the device has connected again. */
function isConnectionOf(
	deviceId: string,
	{ type, reason, sessions }: Readonly<Record<string, unknown>>,
): boolean {
	if (type !== "status_update" || reason !== "connected" || !Array.isArray(sessions)) return false;
	return sessions.some((session) => isRecord(session) && session.deviceId === deviceId);
}

/** @throws UsageError */
function monitorAddress(gateway: string): URL {
	const base = URL.canParse(gateway) ? new URL(gateway) : undefined;
	if (!base || !/^(http|ws)s?:$/.test(base.protocol))
		throw new UsageError(
			`--gateway must be an address such as ${options.gateway.default}, not "${gateway}".`,
		);
	const address = new URL(`${base.pathname.replace(/\/$/, "")}/monitor`, base);
	address.protocol = base.protocol.replace("http", "ws");
	return address;
}
