/**
 * Firmware images. Download: processor time of the gateway compared with nginx for the same bytes. Upload of 16 MB,
 * checked and synced to disk, compared with the same bytes written and synced by a bare server.
 */

import type { Owner } from "../support/cleanup.js";
import { whyMissing } from "../support/programs.js";
import { type Child, start } from "./child.js";
import { compare, cost, largeImage, type Measured, type Row, roundCount, upload } from "./harness.js";
import type { Readers } from "./load/readers.js";
import { Nginx } from "./servers/nginx.js";
import { Side } from "./side.js";

/** Block size of a device (device/update/download.ts). */
const blockBytes = 16 * 1024;
const readerCount = 100;

export async function runImage(t: Owner): Promise<readonly Row[]> {
	const missing = whyMissing("nginx");
	if (missing) {
		console.log(`\nimage: left out. ${missing}`);
		return [];
	}
	/** Size of firmware for an ESP32-S3. */
	const image = largeImage(1 << 20);
	const gateway = await Side.gateway(t);
	const readers: Child<Readers> = start(t, "load/readers.ts");
	const nginx = await Nginx.start(t, { "firmware.bin": image });
	await upload(`${gateway.url}/ota/upload`, gateway.monitor.token, image);
	const rows: Row[] = [];
	for (const [how, block, maxRatio] of [
		["whole", image.length, 1.8],
		["in blocks of 16 KiB", blockBytes, 1.3],
	] as const) {
		const readFrom = (server: Measured, url: string, token: string) => () =>
			cost(server, () =>
				readers.request("read", { url, token, readers: readerCount, size: image.length, block }),
			);
		const sides = {
			ours: readFrom(gateway, `${gateway.url}/ota/firmware.bin`, gateway.device.token),
			reference: readFrom(nginx, `${nginx.url}/firmware.bin`, ""),
		};
		// Compiles all code, which takes a few thousand connections as well as requests.
		await compare("warm-up", sides, [], block === blockBytes ? 3 : 40);
		rows.push(
			...(await compare(
				`1 MiB ${how} by ${readerCount} readers`,
				sides,
				[{ what: "CPU of the server", unit: "ms", of: (spent) => spent.cpuMilliseconds, maxRatio }],
				4 * roundCount,
			)),
		);
	}
	return rows;
}

export async function runUpload(t: Owner): Promise<readonly Row[]> {
	const [gateway, raw] = [await Side.gateway(t), await Side.bare(t)];
	const image = largeImage(16_000_000);
	const uploadTo = (side: Side, path: string) => () =>
		cost(side, () => upload(`${side.url}${path}`, side.monitor.token, image));
	const sides = { ours: uploadTo(gateway, "/ota/upload"), reference: uploadTo(raw, "/") };
	await compare("warm-up", sides, [], 1);
	return compare(
		"16 MB, checked and on disk, beside raw bytes to disk and fsync",
		sides,
		[
			{ what: "time", unit: "ms", of: ({ milliseconds }) => milliseconds, maxRatio: 1.7 },
			{ what: "CPU", unit: "ms", of: ({ cpuMilliseconds }) => cpuMilliseconds },
		],
		roundCount * 2,
	);
}
