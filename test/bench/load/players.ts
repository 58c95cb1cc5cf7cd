/** Virtual devices that record the start and the samples of sounds, in one of several processes. */

import { setTimeout } from "node:timers/promises";
import { VirtualDevice } from "../../../hosts/virtual/node/virtual-device.js";
import { bytesPerSecond, noise } from "../../support/sounds.js";
import { serve } from "../child.js";

export interface PlayersOptions {
	/** URL for devices. */
	readonly url: string;
	readonly token: string;
	readonly serials: readonly string[];
}

interface Player {
	readonly deviceId: string;
	/**
	 * Start in milliseconds since 1970, by a clock shared by all processes; undefined: nothing played since `forget`.
	 */
	firstAt: number | undefined;
	/** Content of its output at each start, and samples that have left it since; the latest three. */
	runs: { readonly samples: Uint8Array; readonly played: Uint8Array[] }[];
}

/** Length of the excerpt that locates a position in a sound; a resumed sound fades in before. */
const soughtBytes = 320;
const fadeBytes = 6400;

const players: Player[] = [];

const handlers = {
	/** @returns their ids */
	start: async ({ url, token, serials }: PlayersOptions) => {
		for (const serial of serials) {
			const settings = { gateway: url, token };
			const { deviceId, board } = await VirtualDevice.start({ model: "DEV-1", serial, settings });
			const player: Player = { deviceId, firstAt: undefined, runs: [] };
			board.listen({
				// Its first sample leaves the output with the start; onPlayed follows a block later.
				onSound: (sound) => {
					if (sound) player.runs = [...player.runs.slice(-2), { samples: sound.samples, played: [] }];
					if (player.firstAt === undefined && sound?.samples.some((byte) => byte !== 0))
						player.firstAt = performance.timeOrigin + performance.now();
				},
				onPlayed: (samples) => player.runs.at(-1)?.played.push(samples),
			});
			players.push(player);
		}
		return players.map(({ deviceId }) => deviceId);
	},
	forget: () => {
		for (const player of players) player.firstAt = undefined;
	},
	/** @param ids of the playing devices @returns their start times, once all have started */
	firsts: async (ids: readonly string[]) => {
		const playing = players.filter(({ deviceId }) => ids.includes(deviceId));
		for (;;) {
			const firsts = playing.flatMap(({ firstAt }) => firstAt ?? []);
			if (firsts.length === playing.length) return firsts;
			await setTimeout(20);
		}
	},
	/**
	 * @param seconds duration of the sound that was interrupted last by another one
	 * @returns skipped part of it at its resumption in ms; negative: repeated part
	 */
	leftOutMs: ({ deviceId, seconds }: { readonly deviceId: string; readonly seconds: number }) => {
		const sound = noise(seconds * bytesPerSecond);
		const [interrupted, , resumed] = players.find((player) => player.deviceId === deviceId)?.runs ?? [];
		const before = Buffer.concat(interrupted?.played ?? []).subarray(-soughtBytes);
		const after = resumed?.samples.subarray(fadeBytes, fadeBytes + soughtBytes) ?? [];
		const [stoppedAt, wentOnAt] = [sound.indexOf(before), sound.indexOf(Buffer.from(after))];
		if (stoppedAt < 0 || wentOnAt < 0) throw new Error("the interrupted sound was not heard");
		return ((wentOnAt - fadeBytes - stoppedAt - soughtBytes) * 1000) / bytesPerSecond;
	},
};

export type Players = typeof handlers;
serve(handlers);
