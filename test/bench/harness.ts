/** Common part of the benchmarks: child processes, images, and rounds in which the two sides alternate. */

import { readFileSync } from "node:fs";
import { encodeImage } from "../../hosts/virtual/node/boot/encode-image.js";
import { type Owner, onEnd } from "../support/cleanup.js";
import { Child, type ChildOptions, type Handlers } from "./child.js";
import type { Round } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";

/** BENCH_ROUNDS; a useful median needs 5 or more. */
export const roundCount = Math.max(1, Number(process.env.BENCH_ROUNDS) || 5);

/** Results of both sides. */
export interface Sides<T> {
	readonly ours: T;
	readonly reference: T;
}

/** Alternates the sides, and also the one that starts. */
export async function alternate<T>(
	ours: () => Promise<T>,
	reference: () => Promise<T>,
	rounds = roundCount,
): Promise<readonly Sides<T>[]> {
	const results: Sides<T>[] = [];
	for (let round = 0; round < rounds; round++) {
		if (round % 2 === 0) {
			const first = await ours();
			results.push({ ours: first, reference: await reference() });
		} else {
			const first = await reference();
			results.push({ ours: await ours(), reference: first });
		}
	}
	return results;
}

/** One figure of each round. */
export function pick<T>(rounds: readonly Sides<T>[], figureOf: (side: T) => number): readonly Round[] {
	return rounds.map(({ ours, reference }) => ({ ours: figureOf(ours), reference: figureOf(reference) }));
}

/** Starts a child that is closed with its owner. @param file as for `Child` */
export function start<H extends Handlers>(t: Owner, file: string, options?: ChildOptions): Child<H> {
	const child = new Child<H>(file, options);
	onEnd(t, () => child.close());
	return child;
}

/** Starts the gateway's process with the Node options of `npm start`. */
export function startGateway(t: Owner): Child<GatewayServer> {
	const packageFile = new URL("../../package.json", import.meta.url);
	const { scripts }: { scripts: { start: string } } = JSON.parse(readFileSync(packageFile, "utf8"));
	const nodeOptions = scripts.start.split(" ").filter((word) => word.startsWith("--") && word !== "--import");
	return start(t, "servers/gateway-server.ts", { nodeOptions });
}

/** Maximum number of sockets of one process. Node raises its own limit to the hard limit (`ulimit -Hn`). */
export function socketsAtMost(): number {
	const otherFiles = 200;
	try {
		const [, limit] = /^Max open files +\d+ +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
		return Number(limit) - otherFiles || 10_000;
	} catch {
		return 10_000;
	}
}

/** Valid image for a DEV-1 of almost `bytes` bytes, and no more. */
export function makeImage(bytes: number): Buffer {
	const [segmentBytes, overheadBytes] = [4 << 20, 1024];
	// Reproducible and incompressible, which is realistic for the search for the form's boundary.
	const content = Buffer.alloc(bytes - overheadBytes);
	for (let at = 0, state = 1; at + 4 <= content.length; at += 4) {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		content.writeUInt32LE(state, at);
	}
	const count = Math.ceil(content.length / segmentBytes);
	const segments = Array.from({ length: count }, (_, index) =>
		content.subarray(index * segmentBytes, (index + 1) * segmentBytes),
	);
	return encodeImage({
		chip: "esp32s3",
		model: "DEV-1",
		version: "1.4.0",
		project: "bench",
		idfVersion: "v6.0",
		segments,
	});
}

/** Uploads an image as a browser does. @throws Error with the server's response, unless it accepted the form */
export async function upload(url: string, token: string, image: Buffer): Promise<void> {
	const body = new FormData();
	body.set("firmware", new Blob([new Uint8Array(image)]), "f.bin");
	const headers = { Authorization: `Bearer ${token}` };
	const response = await fetch(url, { method: "POST", headers, body });
	const answer = await response.text();
	if (response.status !== 201) throw new Error(`upload: ${response.status} ${answer}`);
}
