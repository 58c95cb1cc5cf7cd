/** `npm run log`: prints the live log of a device through the gateway. */

import { WebSocket } from "ws";
import { deviceId as deviceIdSchema, maxLogSeconds, uplinks } from "../device/protocol/messages.js";
import { isRecord, matches } from "../device/protocol/schema.js";
import { newLines } from "../gateway/api/client/trace-lines.js";
import { listNames, sentence } from "../gateway/api/client/words.js";
import { type Arguments, print, runCommand, UsageError, wholeNumber } from "./command-line/command.js";
import { GatewayClient, gatewayOption } from "./command-line/gateway-client.js";

const usage = `Usage: npm run log -- dev-1-7cdfa1a1b2c3 [--gateway http://127.0.0.1:8080] [--seconds ${maxLogSeconds}]

Prints the trace output of a device's firmware, starting with the last 2 KB, until the time is over or Ctrl-C. The monitor token
is read from MONITOR_TOKEN, or from the data folder (DATA_DIR, default data) of the gateway on this computer.`;

const options = {
	gateway: gatewayOption,
	seconds: { type: "string", default: String(maxLogSeconds) },
} as const;

/** Request id of the subscription. */
const subscribing = "subscribe";

await runCommand({ name: "log", usage, options, allowPositionals: true, run });

async function run({ values, positionals }: Arguments<typeof options>): Promise<void> {
	const [deviceId] = positionals;
	if (positionals.length > 1) throw new UsageError("Specify one device.");
	if (!matches(deviceIdSchema, deviceId))
		throw new UsageError(deviceId ? `"${deviceId}" is not a device id.` : "Specify a device id.");
	const seconds = wholeNumber("--seconds", values.seconds, 1, maxLogSeconds);
	await printLog(new GatewayClient(values.gateway), deviceId, seconds);
}

/** Subscription to the uplinks of this device, acknowledged once they are being sent. */
function subscription(deviceId: string): object {
	return { type: "subscribe", summary: false, devices: [deviceId], requestId: subscribing };
}

/** Prints the log until the time is over. Requests it again after a reconnect. */
function printLog(gateway: GatewayClient, deviceId: string, seconds: number): Promise<void> {
	const endsAt = Date.now() + seconds * 1000;
	const socket = gateway.openMonitor();
	let last: string | undefined;
	const setLog = (level: "info" | "off") => {
		const left = Math.ceil((endsAt - Date.now()) / 1000);
		const payload = { command: "set_log", level, seconds: Math.max(0, Math.min(left, maxLogSeconds)) };
		socket.send(JSON.stringify({ type: "control_device", targetId: deviceId, payload }));
	};
	return new Promise((resolve, reject) => {
		const end = () => {
			if (socket.readyState === WebSocket.OPEN) setLog("off");
			socket.close();
			resolve();
		};
		const timer = setTimeout(end, seconds * 1000);
		process.once("SIGINT", end);
		socket.on("open", () => socket.send(JSON.stringify(subscription(deviceId))));
		socket.on("error", (error) => reject(gateway.connectionError(error)));
		socket.on("close", (code) => {
			clearTimeout(timer);
			process.removeListener("SIGINT", end);
			reject(new Error(`Connection closed by the gateway (code ${code}).`));
		});
		socket.on("message", (data) => {
			const frame: unknown = JSON.parse(data.toString());
			if (!isRecord(frame)) return;
			if (frame.requestId === subscribing) return setLog("info");
			if (frame.type === "error") {
				rejectionOf(gateway, deviceId, frame)
					.then(reject, reject)
					.finally(() => socket.close());
				return;
			}
			if (isConnectionOf(deviceId, frame)) return setLog("info");
			if (frame.deviceId !== deviceId || !matches(uplinks.log, frame.message)) return;
			const lines = newLines({ last: last === undefined ? undefined : { text: last } }, frame.message);
			last = lines.at(-1) ?? last;
			for (const line of lines) print(line);
		});
	});
}

/** Converts an error frame of the gateway to a readable error. @throws {Rejection} */
async function rejectionOf(
	gateway: GatewayClient,
	deviceId: string,
	{ code, message }: Readonly<Record<string, unknown>>,
): Promise<Error> {
	if (code === "forbidden") return gateway.rejection(403, message);
	if (code === "target_offline") return new Error(`${deviceId} is not connected.`);
	if (code !== "unknown_target") return new Error(sentence(String(message)));
	const { devices } = await gateway.request("GET /api/devices");
	const ids = devices.map((device) => device.deviceId);
	return new Error(`Device ${deviceId} not found; ${listNames("device", ids)}.`);
}

/** Whether the frame reports a reconnect of the device. */
function isConnectionOf(
	deviceId: string,
	{ type, reason, sessions }: Readonly<Record<string, unknown>>,
): boolean {
	if (type !== "status_update" || reason !== "connected" || !Array.isArray(sessions)) return false;
	return sessions.some((session) => isRecord(session) && session.deviceId === deviceId);
}
