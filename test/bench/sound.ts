/**
 * Announcements: how soon a virtual device plays, how far apart several begin, and what it costs to serve a sound to many devices,
 * beside nginx.
 */

import { setTimeout } from "node:timers/promises";
import { writeWav } from "../../gateway/announcements/pcm.js";
import type { Announcement } from "../../gateway/api/announcement.js";
import { ask } from "../../gateway/api/client/request.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { Child } from "./child.js";
import type { Listeners } from "./load/listeners.js";
import { alternate, pick, roundCount } from "./rounds.js";
import { compare, measure, percentile, type Row } from "./row.js";
import type { GatewayServer } from "./servers/gateway-server.js";
import { hasNginx, howToInstall, Nginx } from "./servers/nginx.js";
import { startGateway } from "./servers/start-gateway.js";

const benchmark = "sound";
const rate = 16_000;
const together = 20;
const listeners = 1000;
const listenedSeconds = 60;
/** Each round takes a minute for either side. */
const listenedRounds = 2;

interface Tokens {
	readonly device: string;
	readonly monitor: string;
}

export async function run(): Promise<readonly Row[]> {
	const gateway = startGateway();
	try {
		const { url, tokens } = await gateway.ask("listen");
		return [...(await measureBeginnings(url, tokens)), ...(await compareServing(gateway, url, tokens))];
	} finally {
		await gateway.close();
	}
}

/** Noise, as silence would not be heard to begin. */
function sound(seconds: number): Uint8Array<ArrayBuffer> {
	return new Uint8Array(writeWav(Float32Array.from({ length: rate * seconds }, () => Math.random() - 0.5)));
}

async function upload(url: string, { monitor }: Tokens, file: Uint8Array<ArrayBuffer>): Promise<string> {
	const headers = { Authorization: `Bearer ${monitor}` };
	const { id } = await ask<{ readonly id: string }>(`${url}/api/sounds?name=bench`, {
		method: "POST",
		file,
		headers,
	});
	return id;
}

/** A virtual device that notes when it plays the first sample of a sound. */
async function listen(url: string, { device: token }: Tokens, serial: string) {
	let firstAt: number | undefined;
	const device = await VirtualDevice.start({
		model: "DEV-1",
		serial,
		settings: { gateway: `${url.replace("http", "ws")}/device`, token },
	});
	device.board.listen({
		onPlayed: (samples) => {
			if (firstAt === undefined && samples.some((byte) => byte !== 0)) firstAt = performance.now();
		},
	});
	return {
		device,
		/** Until it plays. */
		next: async (): Promise<number> => {
			while (firstAt === undefined) await setTimeout(1);
			return firstAt;
		},
		forget: () => {
			firstAt = undefined;
		},
	};
}

async function measureBeginnings(url: string, tokens: Tokens): Promise<readonly Row[]> {
	const headers = { Authorization: `Bearer ${tokens.monitor}` };
	const id = await upload(url, tokens, sound(1));
	const devices: Awaited<ReturnType<typeof listen>>[] = [];
	const serials = Array.from({ length: together }, (_, index) => (0xa0_0000 + index).toString(16));
	try {
		for (const serial of serials) devices.push(await listen(url, tokens, serial));
		const ids = devices.map(({ device }) => device.deviceId);
		const areKnown = async () => {
			const { devices: known } = await ask<{ readonly devices: readonly { readonly connected: boolean }[] }>(
				`${url}/api/devices`,
				{ headers },
			);
			return known.filter(({ connected }) => connected).length >= together;
		};
		while (!(await areKnown())) await setTimeout(50);
		// The startup chime must not be taken for the sound.
		await setTimeout(3_000);
		const play = async (playing: typeof devices) => {
			for (const { forget } of playing) forget();
			const began = performance.now();
			const targets = { devices: ids.slice(0, playing.length) };
			const body = { sound: id, targets };
			const { id: announced } = await ask<{ readonly id: string }>(`${url}/api/announcements`, {
				method: "POST",
				body,
				headers,
			});
			const firsts = await Promise.all(playing.map(({ next }) => next()));
			for (;;) {
				const { endedAt } = await ask<Announcement>(`${url}/api/announcements/${announced}`, { headers });
				if (endedAt !== null) break;
				await setTimeout(50);
			}
			return firsts.map((at) => at - began);
		};
		const alone: number[] = [];
		for (let time = 0; time < 4 * roundCount; time += 1) alone.push(...(await play(devices.slice(0, 1))));
		const spreads: number[] = [];
		for (let time = 0; time < 2 * roundCount; time += 1) {
			const firsts = await play(devices);
			spreads.push(Math.max(...firsts) - Math.min(...firsts));
		}
		const ours = (atMost: number) => ({ target: { of: "ours", atMost } as const });
		return [
			measure({ benchmark, what: "request to first sample, p95", unit: "ms", ...ours(500) }, [
				percentile(alone, 95),
			]),
			measure(
				{ benchmark, what: `first samples of ${together} devices apart, p95`, unit: "ms", ...ours(30) },
				[percentile(spreads, 95)],
			),
		];
	} finally {
		await Promise.all(devices.map(({ device }) => device.close()));
	}
}

async function compareServing(
	gateway: Child<GatewayServer>,
	url: string,
	tokens: Tokens,
): Promise<readonly Row[]> {
	if (!hasNginx()) {
		console.log(`\nsound: the comparison with nginx is left out. ${howToInstall}`);
		return [];
	}
	const file = sound(listenedSeconds);
	const id = await upload(url, tokens, file);
	const nginx = await Nginx.start({ "sound.wav": Buffer.from(file) });
	const load = new Child<Listeners>("load/listeners.ts", { hasLowPriority: true });
	try {
		const gatewayCpu = async () => (await gateway.ask("usage", { isSettled: false })).cpuMicros;
		const used = (address: string, token: string, cpu: () => number | Promise<number>) => async () => {
			const before = await cpu();
			const asked = { url: address, token, listeners, seconds: listenedSeconds };
			const { underruns } = await load.ask("listen", asked);
			return { milliseconds: ((await cpu()) - before) / 1000, underruns };
		};
		const rounds = await alternate(
			used(`${url}/sounds/${id}.wav`, tokens.device, gatewayCpu),
			used(`${nginx.url}/sound.wav`, "", () => nginx.cpuMicros()),
			listenedRounds,
		);
		const what = `${listeners} devices play ${listenedSeconds} s`;
		const none = { target: { of: "ours", atMost: 0 } as const };
		return [
			compare(
				{ benchmark, what: `${what}: CPU of the server`, unit: "ms" },
				pick(rounds, ({ milliseconds }) => milliseconds),
			),
			measure(
				{ benchmark, what: `${what}: 0.1 s without sound`, unit: "", ...none },
				rounds.map(({ ours }) => ours.underruns),
			),
		];
	} finally {
		await Promise.all([load.close(), nginx.close()]);
	}
}
