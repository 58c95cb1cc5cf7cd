/**
 * Update of the virtual device, from its first block to a verified image in the other slot, compared with curl
 * downloading the same bytes from the same gateway.
 */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { WebSocket } from "ws";
import { encodeImage } from "../../hosts/virtual/node/boot/encode-image.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { withCleanup } from "../support/cleanup.js";
import { alternate, pick, startGateway, upload } from "./harness.js";
import { median, type Row, Rows, ratioAtMost } from "./row.js";

/** Bytes added to the image of virtual devices: none, and enough to make it as large as a board's. */
const ballasts = [0, 1_400_000];
const table = new Rows("update");
const updateMs = 60_000;
/** Warm-up for each size, so that all code is compiled, including the gateway's. */
const warmUps = 25;
const timesARound = 5;

export const run = (): Promise<readonly Row[]> =>
	withCleanup(async (t) => {
		const { url, tokens } = await startGateway(t).request("listen");
		const program = await buildFirmware();
		let count = 0;
		/** Each has another version, so that no update is one to the running version. */
		const uploadNext = async (ballast: number) => {
			count += 1;
			const version = `9.0.${count}`;
			const image = encodeImage({
				chip: "virtual",
				model: "DEV-1",
				version,
				project: "bench",
				idfVersion: "virtual",
				segments: ballast > 0 ? [program.bytes, Buffer.alloc(ballast, version)] : [program.bytes],
			});
			await upload(`${url}/ota/upload`, tokens.monitor, image);
			return image.length;
		};
		const rows: Row[] = [];
		for (const ballast of ballasts) {
			const size = await uploadNext(ballast);
			for (let time = 0; time < warmUps; time++) await timeUpdate(url, tokens);
			const updated = async () => {
				await uploadNext(ballast);
				return typical(() => timeUpdate(url, tokens));
			};
			const fetched = () => typical(() => timeCurl(`${url}/ota/firmware.bin`, tokens.device));
			const rounds = await alternate(updated, fetched);
			const what = `${Math.round(size / 1024)} KB into the other slot, beside curl`;
			// At least a twentieth of curl's speed.
			const [transfer, whole] = (["transfer", "whole"] as const).map((key) =>
				pick(rounds, (time) => time[key]),
			);
			rows.push(
				table.compare(`${what}: first block to last`, "ms", transfer ?? [], ratioAtMost(20)),
				table.compare(`${what}: command to proven image`, "ms", whole ?? []),
			);
		}
		return rows;
	});

/** Median of several downloads, because one takes two milliseconds. */
async function typical(measure: () => Promise<UpdateTime>): Promise<UpdateTime> {
	const times: UpdateTime[] = [];
	while (times.length < timesARound) times.push(await measure());
	return {
		transfer: median(times.map(({ transfer }) => transfer)),
		whole: median(times.map(({ whole }) => whole)),
	};
}

async function timeCurl(url: string, token: string): Promise<UpdateTime> {
	const options = ["-sf", "-o", "/dev/null", "-w", "%{time_total}", "-H", `Authorization: Bearer ${token}`];
	const { stdout } = await promisify(execFile)("curl", [...options, url]);
	const time = Number(stdout) * 1000;
	return { transfer: time, whole: time };
}

interface UpdateTime {
	/** Milliseconds from the first progress to that at 100 %. */
	readonly transfer: number;
	/** Milliseconds from the monitor's command to `ota_complete`. */
	readonly whole: number;
}

/** Starts a new device each time with this checkout's firmware. */
async function timeUpdate(url: string, tokens: { device: string; monitor: string }): Promise<UpdateTime> {
	const base = url.replace("http", "ws");
	const monitor = new WebSocket(`${base}/monitor`, {
		headers: { Authorization: `Bearer ${tokens.monitor}` },
	});
	await once(monitor, "open");
	const reported = heard(monitor, "state_report");
	const device = await VirtualDevice.start({
		model: "DEV-1",
		serial: "0a7e57",
		settings: { gateway: `${base}/device`, token: tokens.device },
	});
	try {
		await reported;
		const completed = heard(monitor, "ota_complete");
		const first = heard(monitor, "ota_progress").then(() => performance.now());
		const last = heard(monitor, "ota_progress", '"percent":100').then(() => performance.now());
		const began = performance.now();
		monitor.send(JSON.stringify({ type: "trigger_ota", targetId: device.deviceId, version: "custom" }));
		const [firstAt, lastAt] = await Promise.all([first, last, completed]);
		return { transfer: lastAt - firstAt, whole: performance.now() - began };
	} finally {
		await device.close();
		monitor.terminate();
	}
}

/** Waits for an uplink of that type that contains a text. @throws Error with an error of the device or the gateway */
function heard(monitor: WebSocket, type: string, part = ""): Promise<void> {
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => reject(new Error(`no ${type} came`)), updateMs);
		const end = (error?: Error) => {
			clearTimeout(timer);
			monitor.off("message", look);
			if (error) reject(error);
			else resolve();
		};
		const look = (data: unknown) => {
			const text = String(data);
			if (text.includes(`"message":{"type":"${type}"`) && text.includes(part)) end();
			else if (text.includes('"message":{"type":"ota_error"') || text.startsWith('{"type":"error"'))
				end(new Error(text));
		};
		monitor.on("message", look);
	});
}
