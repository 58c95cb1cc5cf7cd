/** Devices that download one firmware simultaneously, in one process: block by block on one connection. */

import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { serve } from "../child.js";

export interface Reading {
	readonly url: string;
	/** Empty: none. */
	readonly token: string;
	readonly readers: number;
	/** Size of the firmware in bytes. */
	readonly size: number;
}

/** Block size of a device in bytes (device/update/download.ts). */
const block = 16 * 1024;

const handlers = {
	/** Each reader fetches all of it once. */
	read: (reading: Reading) => Promise.all(Array.from({ length: reading.readers }, () => readAll(reading))),
};

async function readAll({ url, token, size }: Reading): Promise<void> {
	const agent = new Agent({ keepAlive: true, maxSockets: 1 });
	const authorization = token ? { Authorization: `Bearer ${token}` } : {};
	let etag: string | undefined;
	for (let first = 0; first < size; first += block) {
		const last = Math.min(first + block, size) - 1;
		const ifRange = etag === undefined ? {} : { "If-Range": etag };
		const range = { Range: `bytes=${first}-${last}`, ...ifRange };
		const received = await receive(url, agent, { ...authorization, ...range });
		if (received.bytes !== last - first + 1)
			throw new Error(`${received.bytes} bytes of ${first} to ${last}`);
		etag = received.etag;
	}
	agent.destroy();
}

/** @returns the number of bytes, and the version */
async function receive(url: string, agent: Agent, headers: Readonly<Record<string, string>>) {
	const response = await new Promise<IncomingMessage>((resolve, reject) => {
		get(url, { agent, headers }, resolve).on("error", reject);
	});
	let bytes = 0;
	response.on("data", (chunk: Buffer) => {
		bytes += chunk.length;
	});
	await once(response, "end");
	return { bytes, etag: response.headers.etag };
}

export type Readers = typeof handlers;
serve(handlers);
