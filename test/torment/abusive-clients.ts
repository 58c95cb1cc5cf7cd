/** Abusive clients: malformed frames, garbage, broken-off uploads, wrong tokens. */

import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import { bearer, monitorToken } from "../support/gateway-settings.js";
import { sampleReport, withField } from "../support/sample-report.js";
import { type Action, stepMs } from "./schedule.js";
import type { World } from "./world.js";

type Of<N extends Action["do"]> = Extract<Action, { do: N }>;

const holdMs = 4 * stepMs;

/** A device sends malformed frames. */
export function sayMalformed(world: World, { device: number, frames, kind }: Of<"malformed">): void {
	const { device, record } = world.place(number);
	const report = { ...sampleReport(record.model), deviceId: record.deviceId };
	const malformed = [
		"{",
		JSON.stringify({ ...report, deviceId: "dev-1-no-such" }),
		JSON.stringify(withField(report, "system.firmware_version", 7)),
		Buffer.from([0xff, 0x00]),
		JSON.stringify({ type: "ota_error", reason: "x".repeat(70_000) }),
		"[".repeat(30_000),
	];
	for (let frame = 0; frame < frames; frame += 1) device.sendText(malformed[kind] ?? "");
}

/** A monitor sends an invalid message, which must be answered with an error. */
export async function sendInvalid(world: World, { monitor, kind }: Of<"invalid message">): Promise<void> {
	const garbage = [
		"{",
		"[]",
		'{"type":"x"}',
		'{"type":"control_device"}',
		'{"type":"boot_device","targetId":5}',
	];
	const { code } = await world.monitor(monitor).sendInvalid(garbage[kind] ?? "");
	if (code === "ack") world.journal.break(`${garbage[kind]} was carried out`);
}

/** Sends half of an upload without the rest. */
export async function breakOffUpload(world: World, bytes: Buffer): Promise<void> {
	const head = [
		"POST /ota/upload HTTP/1.1",
		"Host: x",
		`Authorization: ${bearer(monitorToken).Authorization}`,
		`Content-Length: ${bytes.length + 200}`,
		"Content-Type: multipart/form-data; boundary=b",
		"",
		"--b",
		'Content-Disposition: form-data; name="firmware"; filename="f.bin"',
		"",
		"",
	];
	await say(
		world,
		Buffer.concat([Buffer.from(head.join("\r\n")), bytes.subarray(0, bytes.length >> 1)]),
		stepMs,
	);
}

/** A client without a token. */
export async function sendWithoutToken(world: World, { kind }: Of<"anonymous client">): Promise<void> {
	if (kind === 0) return showWrongToken(world);
	const said = [
		"\x16\x03\x01garbage\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n",
		"GET /api/devices HTTP/1.1\r\n\r\n",
	];
	await say(world, said[kind - 1] ?? "", holdMs);
}

async function showWrongToken({ gateway, journal }: World): Promise<void> {
	if (gateway.port === undefined) return;
	const options = { headers: bearer("a-token-that-is-wrong") };
	const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/device`, options).on("error", () => {});
	socket.on("open", () => journal.break("a wrong token was accepted"));
	await pause(holdMs);
	socket.terminate();
}

/** Connects, sends, waits, and disconnects. */
async function say({ gateway }: World, what: string | Buffer, ms: number): Promise<void> {
	if (gateway.port === undefined) return;
	const socket = connect(gateway.port, "127.0.0.1").on("error", () => {});
	socket.write(what);
	await pause(ms);
	socket.destroy();
}
