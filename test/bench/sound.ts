/**
 * Announcements: delay until a virtual device plays, even for an urgent one over another, and time between the starts
 * of several devices.
 */

import { setTimeout } from "node:timers/promises";
import type { AnnouncementRequest } from "../../gateway/api/announcement.js";
import { clientOf } from "../support/call.js";
import type { Owner } from "../support/cleanup.js";
import { eventually } from "../support/eventually.js";
import { bytesPerSecond, noise, wav } from "../support/sounds.js";
import { type Child, start } from "./child.js";
import { percentile, type Row, roundCount, row } from "./harness.js";
import type { Players } from "./load/players.js";
import { Side } from "./side.js";

const together = 20;
/** Separate processes, because in one event loop they would start one after another. */
const inProcess = 5;
/** Duration of a sound that is interrupted. */
const interruptedSeconds = 4;

/** Noise, because the start of silence would be inaudible. */
function sound(seconds: number, seed?: number): Uint8Array<ArrayBuffer> {
	return new Uint8Array(wav(noise(bytesPerSecond * seconds, seed)));
}

export async function run(t: Owner): Promise<readonly Row[]> {
	const gateway = await Side.gateway(t);
	const { request } = clientOf(gateway.url);
	const upload = (file: Uint8Array<ArrayBuffer>) =>
		request("POST /api/sounds", { query: { name: "bench" }, file });
	const { id } = await upload(sound(1, 2));
	const { id: long } = await upload(sound(interruptedSeconds));
	const all = Array.from({ length: together / inProcess }, (): Child<Players> => start(t, "load/players.ts"));
	const ids: string[] = [];
	for (const [index, child] of all.entries()) {
		const first = 0xa0_0000 + index * inProcess;
		const serials = Array.from({ length: inProcess }, (_, at) => (first + at).toString(16));
		ids.push(...(await child.request("start", { ...gateway.device, serials })));
	}
	const listDevices = () => request("GET /api/devices");
	await eventually(
		listDevices,
		({ devices: known }) => known.filter(({ connected }) => connected).length >= together,
	);
	// The startup chime must not be mistaken for the sound.
	await setTimeout(3_000);
	/** @returns start times of the devices, in milliseconds after the request */
	const begin = async (devices: readonly string[], body: Omit<AnnouncementRequest, "targets">) => {
		await Promise.all(all.map((child) => child.request("forget")));
		const began = performance.timeOrigin + performance.now();
		const { id: announced } = await request("POST /api/announcements", {
			body: { ...body, targets: { devices } },
		});
		const firsts = await Promise.all(all.map((child) => child.request("firsts", devices)));
		return { announced, afterMs: firsts.flat().map((at) => at - began) };
	};
	const ended = (announced: string) =>
		eventually(
			() => request("GET /api/announcements/:id", { params: { id: announced } }),
			({ endedAt }) => endedAt !== null,
		);
	const play = async (devices: readonly string[]) => {
		const { announced, afterMs } = await begin(devices, { sound: id });
		await ended(announced);
		return afterMs;
	};
	const [deviceId = ""] = ids;
	const alone: number[] = [];
	const spreads: number[] = [];
	const urgent: number[] = [];
	const leftOut: number[] = [];
	for (let time = 0; time < 4 * roundCount; time += 1) {
		alone.push(...(await play([deviceId])));
		const { announced } = await begin([deviceId], { sound: long });
		await setTimeout(500 + 100 * (time % 10));
		urgent.push(...(await begin([deviceId], { sound: id, priority: "urgent" })).afterMs);
		await ended(announced);
		const [player] = all;
		if (player) leftOut.push(await player.request("leftOutMs", { deviceId, seconds: interruptedSeconds }));
		if (time % 2 === 0) continue;
		const starts = await play(ids);
		spreads.push(Math.max(...starts) - Math.min(...starts));
	}
	const p95 = (what: string, values: readonly number[], max: number) =>
		row(`${what}, p95`, percentile(values, 95), { unit: "ms", max });
	return [
		p95("request to first sample", alone, 500),
		p95(`first samples of ${together} devices apart`, spreads, 30),
		p95("request to first sample of an urgent one", urgent, 100),
		row("skipped of the sound it interrupts", Math.max(0, ...leftOut), { unit: "ms", max: 1 }),
		// Fade-out of the codec, which is heard again.
		row("repeated of that sound", Math.max(0, ...leftOut.map((ms) => -ms)), { unit: "ms", max: 40 }),
	];
}
