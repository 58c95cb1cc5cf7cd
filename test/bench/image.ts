/**
 * One firmware image for many readers: processor time of the gateway compared with nginx for the same bytes, and with
 * `node:http` without the gateway's code, the minimum for Node.
 */

import { whyMissing } from "../support/programs.js";
import { Child } from "./child.js";
import { asForm, makeImage, post } from "./firmware.js";
import type { Readers, Reading } from "./load/readers.js";
import { alternate, pick } from "./rounds.js";
import { compare, type Row } from "./row.js";
import type { BareImageServer } from "./servers/bare-image-server.js";
import { Nginx } from "./servers/nginx.js";
import { startGateway, startLikeGateway } from "./servers/start-gateway.js";

const benchmark = "image";
/** Size of firmware for an ESP32-S3. */
const imageBytes = 1 << 20;
/** Block size of a device (device/update/download.ts). */
const blockBytes = 16 * 1024;

export async function run(): Promise<readonly Row[]> {
	const missing = whyMissing("nginx");
	if (missing) {
		console.log(`\nimage: left out. ${missing}`);
		return [];
	}
	const image = makeImage(imageBytes);
	const gateway = startGateway();
	const bare = startLikeGateway<BareImageServer>("servers/bare-image-server.ts");
	const readers = new Child<Readers>("load/readers.ts");
	let nginx: Nginx | undefined;
	try {
		const server = await Nginx.start({ "firmware.bin": image });
		nginx = server;
		const { url, tokens } = await gateway.request("listen");
		await post(`${url}/ota/upload`, tokens.monitor, asForm(image));
		const { url: bareUrl } = await bare.request("listen", imageBytes);
		const { size, token } = { size: image.length, token: tokens.device };
		const ours: Side = {
			reading: { size, url: `${url}/ota/firmware.bin`, token },
			cpu: async () => (await gateway.request("usage", { isSettled: false })).cpuMicros,
		};
		const least: Side = {
			reading: { size, url: bareUrl, token },
			cpu: async () => (await bare.request("usage", { isSettled: false })).cpuMicros,
		};
		const reference: Side = {
			reading: { size, url: `${server.url}/firmware.bin`, token: "" },
			cpu: () => server.cpuMicros(),
		};
		const rows: Row[] = [];
		// Compiles all code, which takes a few thousand connections as well as requests.
		for (const { reading } of [ours, least, reference])
			for (let time = 0; time < 40; time++)
				await readers.request("read", { ...reading, readers: 100, block: time < 3 ? blockBytes : size });
		for (const block of [size, blockBytes])
			for (const count of [1, 100]) {
				const load = { readers: count, block };
				rows.push(await compareSides(readers, load, ours, reference, ""));
				if (count > 1) rows.push(await compareSides(readers, load, least, reference, "node:http alone, "));
			}
		return rows;
	} finally {
		await Promise.all([readers.close(), gateway.close(), bare.close(), nginx?.close()]);
	}
}

interface Side {
	readonly reading: Omit<Reading, "readers" | "block">;
	/** Processor time so far, in microseconds. */
	readonly cpu: () => number | Promise<number>;
}

/** @param who side that is compared with the reference; empty: the gateway */
async function compareSides(
	readers: Child<Readers>,
	load: Pick<Reading, "readers" | "block">,
	side: Side,
	reference: Side,
	who: string,
): Promise<Row> {
	const count = load.readers;
	const isWhole = load.block === side.reading.size;
	// A single one is too short to be measured.
	const times = count === 1 ? 20 : 4;
	const usedBy =
		({ reading, cpu }: Side) =>
		async () => {
			const before = await cpu();
			for (let time = 0; time < times; time++) await readers.request("read", { ...reading, ...load });
			return ((await cpu()) - before) / times / 1000;
		};
	const [one, other] = [usedBy(side), usedBy(reference)];
	await one();
	await other();
	const rounds = await alternate(one, other);
	const how = isWhole ? "whole" : `blocks of ${load.block / 1024} KiB`;
	return compare(
		{
			benchmark,
			what: `${who}1 MiB, ${how}, ${count} reader${count === 1 ? "" : "s at once"}: CPU of the server`,
			unit: "ms",
			...(count > 1 && who === "" && { target: { of: "ratio", atMost: isWhole ? 1.8 : 1.3 } }),
		},
		pick(rounds, (milliseconds) => milliseconds),
	);
}
