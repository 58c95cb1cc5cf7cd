/**
 * Firmware images. Download: processor time of the gateway compared with nginx for the same bytes. Upload of 16 MB,
 * checked and synced to disk, compared with the same bytes written and synced by a bare server.
 */

import { withCleanup } from "../support/cleanup.js";
import { whyMissing } from "../support/programs.js";
import type { Child } from "./child.js";
import { alternate, makeImage, pick, roundCount, start, startGateway, upload } from "./harness.js";
import type { Readers, Reading } from "./load/readers.js";
import { type Row, Rows, ratioAtMost } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";
import { Nginx } from "./servers/nginx.js";
import type { ReferenceServer } from "./servers/reference-server.js";

/** Size of firmware for an ESP32-S3. */
const imageBytes = 1 << 20;
/** Block size of a device (device/update/download.ts). */
const blockBytes = 16 * 1024;
const uploadBytes = 16_000_000;

interface DownloadSide {
	readonly reading: Omit<Reading, "readers" | "block">;
	/** Processor time so far, in microseconds. */
	readonly cpu: () => number | Promise<number>;
}

export function runImage(): Promise<readonly Row[]> {
	return withCleanup(async (t) => {
		const missing = whyMissing("nginx");
		if (missing) {
			console.log(`\nimage: left out. ${missing}`);
			return [];
		}
		const table = new Rows("image");
		const image = makeImage(imageBytes);
		const gateway = startGateway(t);
		const readers: Child<Readers> = start(t, "load/readers.ts");
		const nginx = await Nginx.start(t, { "firmware.bin": image });
		const { url, tokens } = await gateway.request("listen");
		await upload(`${url}/ota/upload`, tokens.monitor, image);
		const size = image.length;
		const ours: DownloadSide = {
			reading: { size, url: `${url}/ota/firmware.bin`, token: tokens.device },
			cpu: async () => (await gateway.request("usage", { isSettled: false })).cpuMicros,
		};
		const reference: DownloadSide = {
			reading: { size, url: `${nginx.url}/firmware.bin`, token: "" },
			cpu: () => nginx.cpuMicros(),
		};
		// Compiles all code, which takes a few thousand connections as well as requests.
		for (const { reading } of [ours, reference])
			for (let time = 0; time < 40; time++)
				await readers.request("read", { ...reading, readers: 100, block: time < 3 ? blockBytes : size });
		const rows: Row[] = [];
		for (const block of [size, blockBytes])
			for (const count of [1, 100]) {
				// A single one is too short to be measured.
				const times = count === 1 ? 20 : 4;
				const usedBy =
					({ reading, cpu }: DownloadSide) =>
					async () => {
						const before = await cpu();
						for (let time = 0; time < times; time++)
							await readers.request("read", { ...reading, readers: count, block });
						return ((await cpu()) - before) / times / 1000;
					};
				const sides = [usedBy(ours), usedBy(reference)] as const;
				for (const side of sides) await side();
				const how = block === size ? "whole" : `blocks of ${block / 1024} KiB`;
				const what = `1 MiB, ${how}, ${count} reader${count === 1 ? "" : "s at once"}: CPU of the server`;
				const target = count > 1 ? ratioAtMost(block === size ? 1.8 : 1.3) : undefined;
				const rounds = pick(await alternate(...sides), (milliseconds) => milliseconds);
				rows.push(table.compare(what, "ms", rounds, target));
			}
		return rows;
	});
}

export function runUpload(): Promise<readonly Row[]> {
	return withCleanup(async (t) => {
		const table = new Rows("upload");
		const gateway = startGateway(t);
		const raw: Child<ReferenceServer> = start(t, "servers/reference-server.ts");
		const [ours, reference] = [await gateway.request("listen"), await raw.request("listen")];
		const image = makeImage(uploadBytes);
		const uploadTo =
			(server: Child<GatewayServer | ReferenceServer>, url: string, token: string) => async () => {
				const cpu = async () => (await server.request("usage", { isSettled: false })).cpuMicros / 1000;
				const [before, began] = [await cpu(), performance.now()];
				await upload(url, token, image);
				const milliseconds = performance.now() - began;
				return { milliseconds, cpuMilliseconds: (await cpu()) - before };
			};
		const sides = [
			uploadTo(gateway, `${ours.url}/ota/upload`, ours.tokens.monitor),
			uploadTo(raw, reference.url, ""),
		] as const;
		for (const side of sides) await side();
		const rounds = await alternate(...sides, roundCount * 2);
		const what = "16 MB, checked and on disk, beside raw bytes to disk and fsync";
		return [
			table.compare(
				`${what}: time`,
				"ms",
				pick(rounds, (side) => side.milliseconds),
				ratioAtMost(1.7),
			),
			table.compare(
				`${what}: CPU`,
				"ms",
				pick(rounds, (side) => side.cpuMilliseconds),
			),
		];
	});
}
