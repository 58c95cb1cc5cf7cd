/** Processor time of the gateway while many devices download a firmware image, compared with nginx for the same bytes. */

import { randomBytes } from "node:crypto";
import type { Owner } from "../support/cleanup.js";
import { makeImage } from "../support/images.js";
import { whyMissing } from "../support/programs.js";
import { type Child, start } from "./child.js";
import { compare, cost, type Measured, type Row, roundCount } from "./harness.js";
import type { Readers } from "./load/readers.js";
import { Nginx } from "./servers/nginx.js";
import { Side } from "./side.js";

const readerCount = 100;

export async function run(t: Owner): Promise<readonly Row[]> {
	const missing = whyMissing("nginx");
	if (missing) {
		console.log(`\nimage: left out. ${missing}`);
		return [];
	}
	/** About as large as firmware for an ESP32-S3. */
	const image = makeImage({ segments: [randomBytes(1 << 20)] });
	const gateway = await Side.gateway(t);
	const readers: Child<Readers> = start(t, "load/readers.ts");
	const nginx = await Nginx.start(t, { "firmware.bin": image });
	await upload(gateway, image);
	const readFrom = (server: Measured, url: string, token: string) => () =>
		cost(server, () => readers.request("read", { url, token, readers: readerCount, size: image.length }));
	const sides = {
		ours: readFrom(gateway, `${gateway.url}/ota/firmware.bin`, gateway.device.token),
		reference: readFrom(nginx, `${nginx.url}/firmware.bin`, ""),
	};
	// Compiles all code.
	await compare("warm-up", sides, [], 3);
	return compare(
		`1 MiB in blocks by ${readerCount} readers`,
		sides,
		[{ what: "CPU of the server", unit: "ms", of: (spent) => spent.cpuMilliseconds, maxRatio: 1.3 }],
		4 * roundCount,
	);
}

/** Uploads an image as a browser does. @throws Error with the server's response, unless it accepted the form */
async function upload({ url, monitor }: Side, image: Buffer): Promise<void> {
	const body = new FormData();
	body.set("firmware", new Blob([new Uint8Array(image)]), "f.bin");
	const headers = { Authorization: `Bearer ${monitor.token}` };
	const response = await fetch(`${url}/ota/upload`, { method: "POST", headers, body });
	const answer = await response.text();
	if (response.status !== 201) throw new Error(`upload: ${response.status} ${answer}`);
}
