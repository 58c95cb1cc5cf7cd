/**
 * An update of the virtual device, from its first block to a proven image in the other slot, beside curl fetching the same
 * bytes from the same gateway. Runs where the firmware can update itself (device/update).
 */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { WebSocket } from "ws";
import { encodeImage } from "../../hosts/virtual/node/boot/encode-image.js";
import { buildFirmware } from "../../hosts/virtual/node/firmware.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { Child } from "./child.js";
import { asForm, post } from "./firmware.js";
import { alternate, pick } from "./rounds.js";
import { compare, type Row } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";

/** With it the image is about as large as a board's. */
const ballastBytes = 1_400_000;
const benchmark = "update";
const updateMs = 60_000;
/** Before anything is measured, so that the compiler has seen all of it, the gateway's part too. */
const warmUps = 10;
/** A twentieth of curl's speed, at least: so of curl's time, at most. */
const target = { of: "ratio", atMost: 20 } as const;

export async function run(): Promise<readonly Row[]> {
	if (!existsSync(new URL("../../device/update", import.meta.url))) {
		console.log("\nupdate: left out. The firmware cannot update itself yet (device/update)");
		return [];
	}
	const gateway = new Child<GatewayServer>("servers/gateway-server.ts");
	try {
		const { url, tokens } = await gateway.ask("listen");
		const program = await buildFirmware();
		const versions = new Versions();
		const size = versions.image(program.bytes, "0.0.0").length;
		const updated = async () => {
			const version = versions.next();
			await post(`${url}/ota/upload`, tokens.monitor, asForm(versions.image(program.bytes, version)));
			return await timeUpdate(url, tokens);
		};
		const fetched = async () => {
			const args = [
				"-sf",
				"-o",
				"/dev/null",
				"-w",
				"%{time_total}",
				"-H",
				`Authorization: Bearer ${tokens.device}`,
			];
			const { stdout } = await promisify(execFile)("curl", [...args, `${url}/ota/firmware.bin`]);
			return Number(stdout) * 1000;
		};
		for (let time = 0; time < warmUps; time++) await updated();
		const rounds = await alternate(updated, async () => ({ transfer: await fetched(), whole: 0 }));
		const what = `${Math.round(size / 1024)} KB into the other slot, beside curl`;
		const [transfers, wholes] = [
			pick(rounds, ({ transfer }) => transfer),
			rounds.map(({ ours, reference }) => ({ ours: ours.whole, reference: reference.transfer })),
		];
		return [
			compare({ benchmark, what: `${what}: first block to last`, unit: "ms", target }, transfers),
			compare({ benchmark, what: `${what}: command to proven image`, unit: "ms" }, wholes),
		];
	} finally {
		await gateway.close();
	}
}

/** Each image carries another version, so that no update is one to what runs already. */
class Versions {
	#count = 0;

	next(): string {
		return `9.0.${++this.#count}`;
	}

	image(program: Buffer, version: string): Buffer {
		return encodeImage({
			chip: "virtual",
			model: "DEV-1",
			version,
			project: "bench",
			idfVersion: "virtual",
			segments: [program, Buffer.alloc(ballastBytes, version)],
		});
	}
}

interface UpdateTime {
	/** Milliseconds from the first progress to that at 100 %. */
	readonly transfer: number;
	/** Milliseconds from the monitor's command to `ota_complete`. */
	readonly whole: number;
}

/** A new device each time, which runs this checkout's firmware. */
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
		config: { gateway: `${base}/device`, token: tokens.device },
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

/** Waits for an uplink of that type, with that text in it. @throws Error with what the device or the gateway complained about */
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
