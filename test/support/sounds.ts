/** WAV files and a server for them. */

import { createServer } from "node:http";
import type { TestContext } from "node:test";
import type { Board } from "../../hosts/virtual/node/board.js";
import { listen } from "./ports.js";
import { sendRange } from "./ranges.js";

export const bytesPerSecond = 32_000;

/** @param byteLength of the samples @returns noise below half of full scale, whose samples differ everywhere */
export function noise(byteLength: number, seed = 1): Buffer {
	const samples = Buffer.alloc(byteLength);
	let state = seed;
	for (let at = 0; at + 1 < byteLength; at += 2) {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		samples.writeInt16LE((state >>> 17) - 16_384, at);
	}
	return samples;
}

/** Sine of 80 Hz plus 1 Hz for each second, so that no two seconds are equal; at most 30 s. */
export function tone(byteLength: number): Buffer {
	const samples = Buffer.alloc(byteLength);
	for (let at = 0; at + 1 < byteLength; at += 2) {
		const seconds = at / bytesPerSecond;
		samples.writeInt16LE(Math.round(12_000 * Math.sin(2 * Math.PI * (80 + seconds / 2) * seconds)), at);
	}
	return samples;
}

export interface WavFields {
	readonly format?: number;
	readonly channels?: number;
	readonly rate?: number;
	readonly bits?: number;
	/** Length field of the chunk `data`. */
	readonly dataBytes?: number;
	/** Whole chunks before `data`. */
	readonly before?: Buffer;
	/** Bytes after the samples. */
	readonly after?: Buffer;
}

export function wav(samples: Uint8Array, fields: WavFields = {}): Buffer {
	const { format = 1, channels = 1, rate = 16_000, bits = 16, dataBytes = samples.length } = fields;
	const { before = Buffer.alloc(0), after = Buffer.alloc(0) } = fields;
	const body = Buffer.alloc(16);
	body.writeUInt16LE(format, 0);
	body.writeUInt16LE(channels, 2);
	body.writeUInt32LE(rate, 4);
	body.writeUInt32LE((rate * channels * bits) / 8, 8);
	body.writeUInt16LE((channels * bits) / 8, 12);
	body.writeUInt16LE(bits, 14);
	const data = Buffer.alloc(8);
	data.write("data");
	data.writeUInt32LE(dataBytes, 4);
	const content = Buffer.concat([Buffer.from("WAVE"), chunk("fmt ", body), before, data, samples, after]);
	const head = Buffer.alloc(8);
	head.write("RIFF");
	head.writeUInt32LE(content.length, 4);
	return Buffer.concat([head, content]);
}

export function chunk(name: string, body: Uint8Array): Buffer {
	const head = Buffer.alloc(8);
	head.write(name);
	head.writeUInt32LE(body.length, 4);
	return Buffer.concat([head, body, Buffer.alloc(body.length & 1)]);
}

/** Serves a sound. @returns its address, and the numbers of requests and of open connections so far */
export async function serveSound(t: TestContext, file: Buffer) {
	const sound = { url: "", requests: 0, connections: 0 };
	const server = createServer((request, response) => {
		sound.requests += 1;
		response.setHeader("ETag", '"the-sound"');
		// Servers close once all has been sent, while the device still plays and reads.
		response.setHeader("Connection", "close");
		sendRange(request, response, file);
	});
	server.on("connection", (socket) => {
		sound.connections += 1;
		socket.on("close", () => {
			sound.connections -= 1;
		});
	});
	sound.url = `http://127.0.0.1:${await listen(t, server)}/sound.wav`;
	return sound;
}

/** Captures a board's output. @returns the samples so far */
export function capture(board: Board): () => Buffer {
	const blocks: Uint8Array[] = [];
	board.listen({ onPlayed: (samples) => blocks.push(samples) });
	return () => Buffer.concat(blocks);
}
