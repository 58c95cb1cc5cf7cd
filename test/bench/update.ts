/**
 * Update of the virtual device, from its first block to the last one in the other slot, compared with curl downloading
 * the same bytes from the same gateway.
 */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { WebSocket } from "ws";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import type { Owner } from "../support/cleanup.js";
import { bearer } from "../support/gateway-settings.js";
import { makeImage } from "../support/images.js";
import { compare, median, type Row, upload } from "./harness.js";
import { Side } from "./side.js";

/** Bytes added to the image of virtual devices: none, and enough to make it as large as a board's. */
const ballasts = [0, 1_400_000];
const updateMs = 60_000;
/** Warm-up for each size, so that all code is compiled, including the gateway's. */
const warmUps = 25;
const timesARound = 5;

export async function run(t: Owner): Promise<readonly Row[]> {
	const gateway = await Side.gateway(t);
	const program = await buildFirmware();
	let count = 0;
	/** Each has another version, so that no update is one to the running version. */
	const uploadNext = async (ballast: number) => {
		count += 1;
		const version = `9.0.${count}`;
		const more = ballast > 0 ? [Buffer.alloc(ballast, version)] : [];
		const image = makeImage({ chip: "virtual", version, segments: [program.bytes, ...more] });
		await upload(`${gateway.url}/ota/upload`, gateway.monitor.token, image);
		return image.length;
	};
	const rows: Row[] = [];
	for (const ballast of ballasts) {
		const size = await uploadNext(ballast);
		for (let time = 0; time < warmUps; time++) await timeUpdate(gateway);
		const sides = {
			ours: async () => {
				await uploadNext(ballast);
				return typical(() => timeUpdate(gateway));
			},
			reference: () => typical(() => timeCurl(gateway)),
		};
		rows.push(
			...(await compare(`${Math.round(size / 1024)} KB into the other slot, beside curl`, sides, [
				// At least a twentieth of curl's speed.
				{ what: "first block to last", unit: "ms", of: (milliseconds) => milliseconds, maxRatio: 20 },
			])),
		);
	}
	return rows;
}

/** Median of several downloads, because one takes two milliseconds. */
async function typical(measure: () => Promise<number>): Promise<number> {
	const times: number[] = [];
	while (times.length < timesARound) times.push(await measure());
	return median(times);
}

async function timeCurl({ url, device }: Side): Promise<number> {
	const { Authorization } = bearer(device.token);
	const options = ["-sf", "-o", "/dev/null", "-w", "%{time_total}", "-H", `Authorization: ${Authorization}`];
	const { stdout } = await promisify(execFile)("curl", [...options, `${url}/ota/firmware.bin`]);
	return Number(stdout) * 1000;
}

/**
 * Starts a new device each time with this checkout's firmware.
 *
 * @returns milliseconds from the first progress of its update to that at 100 %
 */
async function timeUpdate({ device: { url: gateway, token }, monitor: { url, token: own } }: Side) {
	const monitor = new WebSocket(url, { headers: bearer(own) });
	await once(monitor, "open");
	const reported = heard(monitor, "state_report");
	const device = await VirtualDevice.start({
		model: "DEV-1",
		serial: "0a7e57",
		settings: { gateway, token },
	});
	try {
		await reported;
		const completed = heard(monitor, "ota_complete");
		const first = heard(monitor, "ota_progress").then(() => performance.now());
		const last = heard(monitor, "ota_progress", '"percent":100').then(() => performance.now());
		monitor.send(JSON.stringify({ type: "trigger_ota", targetId: device.deviceId, version: "custom" }));
		const [firstAt, lastAt] = await Promise.all([first, last, completed]);
		return lastAt - firstAt;
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
