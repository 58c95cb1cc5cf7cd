/** Devices that download one firmware simultaneously, in one process: whole, or block by block on one connection. */

import { Agent, get } from "node:http";
import { serve } from "../child.js";

export interface Reading {
	readonly url: string;
	/** Empty: none. */
	readonly token: string;
	readonly readers: number;
	/** Size of the firmware in bytes. */
	readonly size: number;
	/** Block size in bytes; the size of the firmware for a whole download. */
	readonly block: number;
}

const handlers = {
	/** Each reader fetches all of it once. */
	read: async (reading: Reading) => {
		const began = performance.now();
		await Promise.all(Array.from({ length: reading.readers }, () => readAll(reading)));
		return { milliseconds: performance.now() - began };
	},
};

async function readAll({ url, token, size, block }: Reading): Promise<void> {
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	const authorization = token ? { Authorization: `Bearer ${token}` } : {};
	let etag: string | undefined;
	for (let first = 0; first < size; first += block) {
		const last = Math.min(first + block, size) - 1;
		const range = block < size ? { Range: `bytes=${first}-${last}` } : {};
		const ifRange = etag === undefined ? {} : { "If-Range": etag };
		const received = await receive(url, agent, { ...authorization, ...range, ...ifRange });
		if (received.bytes !== last - first + 1)
			throw new Error(`${received.bytes} bytes of ${first} to ${last}`);
		etag = received.etag;
	}
	agent.destroy();
}

/** @returns the number of bytes, and the version */
function receive(
	url: string,
	agent: Agent,
	headers: Readonly<Record<string, string>>,
): Promise<{ bytes: number; etag: string | undefined }> {
	return new Promise((resolve, reject) => {
		const request = get(url, { agent, headers }, (response) => {
			let bytes = 0;
			response.on("data", (chunk: Buffer) => {
				bytes += chunk.length;
			});
			response.on("end", () => resolve({ bytes, etag: response.headers.etag }));
			response.on("error", reject);
		});
		request.on("error", reject);
	});
}

export type Readers = typeof handlers;
serve(handlers);
