/** Devices that play one WAV file from a server simultaneously, in one process. Each reads as fast as it plays. */

import { Agent, get, type IncomingMessage } from "node:http";
import { serve } from "../child.js";

export interface Listening {
	readonly url: string;
	/** Empty: none. */
	readonly token: string;
	readonly listeners: number;
	readonly seconds: number;
}

const bytesASecond = 32_000;
const tickMs = 100;
/** Bytes that a device buffers before it plays. */
const buffered = bytesASecond;

const handlers = {
	/** @returns number of ticks in which a listener had nothing to play */
	listen: async ({ url, token, listeners, seconds }: Listening) => {
		const agent = new Agent({ maxSockets: listeners });
		const headers = token ? { Authorization: `Bearer ${token}` } : {};
		const all = Array.from({ length: listeners }, () => play(url, agent, headers, seconds));
		const underruns = (await Promise.all(all)).reduce((sum, underruns) => sum + underruns, 0);
		agent.destroy();
		return { underruns };
	},
};

async function play(url: string, agent: Agent, headers: object, seconds: number): Promise<number> {
	// Devices do not start simultaneously.
	await new Promise((resolve) => setTimeout(resolve, Math.random() * 1000));
	const response = await new Promise<IncomingMessage>((resolve, reject) => {
		get(url, { agent, headers: { ...headers } }, resolve).on("error", reject);
	});
	if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode}`);
	const wanted = seconds * bytesASecond;
	let received = 0;
	let played = 0;
	let underruns = 0;
	let isPlaying = false;
	return new Promise((resolve, reject) => {
		response.on("error", reject);
		response.on("data", (chunk: Buffer) => {
			received += chunk.length;
			if (received - played > 2 * buffered) response.pause();
		});
		response.on("end", () => {
			if (received < wanted) reject(new Error(`${url}: ${received} of ${wanted} bytes came`));
		});
		const timer = setInterval(() => {
			isPlaying ||= received >= buffered;
			if (!isPlaying) return;
			const step = (bytesASecond * tickMs) / 1000;
			if (received - played >= step || received >= wanted) played += step;
			else underruns += 1;
			if (received - played < 2 * buffered) response.resume();
			if (played < wanted) return;
			clearInterval(timer);
			response.destroy();
			resolve(underruns);
		}, tickMs);
	});
}

export type Listeners = typeof handlers;
serve(handlers);
