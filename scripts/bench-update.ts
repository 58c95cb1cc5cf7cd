/**
 * `node --import tsx scripts/bench-update.ts [updates]`: how fast firmware gets from a gateway into a virtual device's slot,
 * beside what this computer's own HTTP client makes of the same file from the same gateway, and what it costs the device's
 * heap. A board's flash takes about 60 KB/s; this is to find what slows the way there.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { isRecord } from "../device/protocol/schema.js";
import { encodeImage } from "../gateway/firmware/encode-image.js";
import { createGateway } from "../gateway/gateway.js";
import { createLog } from "../gateway/telemetry/log.js";
import { engineVersion } from "../hosts/virtual/node/boot/cable.js";
import { buildFirmware } from "../hosts/virtual/node/firmware.js";
import { describeExit } from "../hosts/virtual/node/machine.js";
import { VirtualDevice } from "../hosts/virtual/node/virtual-device.js";
import { addRelease } from "./release-folder.js";

const updates = Number(process.argv[2] ?? 5);
/** About what a board's firmware has. */
const ballastBytes = 1_400_000;

const folder = mkdtempSync(join(tmpdir(), "bench-update-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const releasesDir = join(folder, "releases");
const gateway = createGateway({
	port: 0,
	dataDir: folder,
	releasesDir,
	deviceToken: "device-token-of-the-bench",
	monitorToken: "monitor-token-of-the-bench",
	log: createLog("silent"),
});
const { url } = await gateway.listen();
const program = await buildFirmware();
const versions = Array.from({ length: updates }, (_, index) => `1.${index + 1}.0`);
let size = 0;
for (const version of versions) {
	const image = encodeImage({
		chip: "virtual",
		model: "DEV-1",
		version,
		project: "bench",
		idfVersion: engineVersion,
		segments: [program.bytes, Buffer.alloc(ballastBytes, version)],
	});
	size = image.length;
	await addRelease(releasesDir, { version, date: "2026-01-02", notes: "", images: [image] });
}

const headers = { Authorization: "Bearer monitor-token-of-the-bench" };
const direct: number[] = [];
for (let run = 0; run < 10; run++) {
	const start = performance.now();
	const response = await fetch(`${url}/releases/virtual/dev-1/firmware-v1.1.0.bin`, { headers });
	const { byteLength } = await response.arrayBuffer();
	if (byteLength !== size) throw new Error(`fetched ${byteLength} of ${size} bytes`);
	direct.push(rate(performance.now() - start));
}

const device = await VirtualDevice.start({
	model: "DEV-1",
	serial: "a1b2c3",
	version: "1.0.0",
	config: { gateway: `${url.replace("http", "ws")}/device`, token: "device-token-of-the-bench" },
	onExit: (exit) => console.error(describeExit(exit)),
});
const monitor = new WebSocket(`${url.replace("http", "ws")}/monitor`, { headers });
const deviceRates: number[] = [];
let peak = { chunkBytesPeak: 0, slotsPeak: 0, chunkBytes: 0, slots: 0 };
let next = 0;
let startedAt = 0;
let isFinished = () => {};
const finished = new Promise<void>((resolve) => {
	isFinished = resolve;
});

function trigger(): void {
	const version = versions[next++];
	if (version === undefined) return isFinished();
	return monitor.send(JSON.stringify({ type: "trigger_ota", targetId: device.deviceId, version }));
}

monitor.on("message", async (data) => {
	const frame: unknown = JSON.parse(data.toString());
	const message = isRecord(frame) && isRecord(frame.message) ? frame.message : undefined;
	if (message?.type === "state_report" && next === 0) trigger();
	if (message?.type === "ota_error") throw new Error(String(message.reason));
	if (message?.type === "ota_progress" && message.percent !== 100) startedAt ||= performance.now();
	if (message?.type === "ota_progress" && message.percent === 100) {
		deviceRates.push(rate(performance.now() - startedAt));
		startedAt = 0;
		const statistics = await device.machine.statistics();
		if (statistics.chunkBytesPeak > peak.chunkBytesPeak) peak = statistics;
	}
	if (
		isRecord(frame) &&
		frame.type === "status_update" &&
		JSON.stringify(frame).includes('"otaStatus":"updated"')
	)
		if (frame.reason === "ota") trigger();
});
await finished;
await device.close();
await gateway.close();

const [best, own] = [median(direct), median(deviceRates)];
console.log(
	`${updates} updates of ${size} bytes, each run by the version it should be: ${device.started.version}`,
);
console.log(`this computer's client  ${best.toFixed(1)} MB/s`);
console.log(`into the device's slot  ${own.toFixed(1)} MB/s, ${((own / best) * 100).toFixed(0)} % of it`);
console.log(
	`device's heap at its fullest: ${peak.chunkBytesPeak} of ${peak.chunkBytes} bytes of chunks, ` +
		`${peak.slotsPeak} of ${peak.slots} slots`,
);
process.exit(0);

/** MB/s. */
function rate(ms: number): number {
	return size / ms / 1000;
}

function median(values: readonly number[]): number {
	return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
}
