/**
 * Update of the virtual device, from its first block to a verified image in the other slot, compared with curl
 * downloading the same bytes from the same gateway.
 */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { WebSocket } from "ws";
import { encodeImage } from "../../hosts/virtual/node/boot/encode-image.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { asForm, post } from "./firmware.js";
import { alternate, pick } from "./rounds.js";
import { compare, median, type Row } from "./row.js";
import { startGateway } from "./servers/start-gateway.js";

/** Bytes added to the image of virtual devices: none, and enough to make it as large as a board's. */
const ballasts = [0, 1_400_000];
const benchmark = "update";
const updateMs = 60_000;
/** Warm-up for each size, so that all code is compiled, including the gateway's. */
const warmUps = 25;
const timesARound = 5;
/** At least a twentieth of curl's speed. */
const target = { of: "ratio", atMost: 20 } as const;

export async function run(): Promise<readonly Row[]> {
	if (!existsSync(new URL("../../device/update", import.meta.url))) {
		console.log("\nupdate: skipped, because the firmware cannot update itself (device/update)");
		return [];
	}
	const gateway = startGateway();
	try {
		const { url, tokens } = await gateway.request("listen");
		const program = await buildFirmware();
		const versions = new Versions();
		const rows: Row[] = [];
		for (const ballast of ballasts) {
			const size = versions.image(program.bytes, "0.0.0", ballast).length;
			const upload = () => {
				const image = versions.image(program.bytes, versions.next(), ballast);
				return post(`${url}/ota/upload`, tokens.monitor, asForm(image));
			};
			await upload();
			for (let time = 0; time < warmUps; time++) await timeUpdate(url, tokens);
			const updated = async () => {
				await upload();
				return await typical(() => timeUpdate(url, tokens));
			};
			const fetched = () => typical(() => timeCurl(`${url}/ota/firmware.bin`, tokens.device));
			const rounds = await alternate(updated, fetched);
			const what = `${Math.round(size / 1024)} KB into the other slot, beside curl`;
			rows.push(
				compare(
					{ benchmark, what: `${what}: first block to last`, unit: "ms", target },
					pick(rounds, ({ transfer }) => transfer),
				),
				compare(
					{ benchmark, what: `${what}: command to proven image`, unit: "ms" },
					pick(rounds, ({ whole }) => whole),
				),
			);
		}
		return rows;
	} finally {
		await gateway.close();
	}
}

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

/** Each image has another version, so that no update is one to the running version. */
class Versions {
	#count = 0;

	next(): string {
		return `9.0.${++this.#count}`;
	}

	image(program: Buffer, version: string, ballast: number): Buffer {
		return encodeImage({
			chip: "virtual",
			model: "DEV-1",
			version,
			project: "bench",
			idfVersion: "virtual",
			segments: ballast > 0 ? [program, Buffer.alloc(ballast, version)] : [program],
		});
	}
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
