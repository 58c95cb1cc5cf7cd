/** Virtual devices that note when they play the first sample of a sound, as one of several processes. */

import { setTimeout } from "node:timers/promises";
import { VirtualDevice } from "../../../hosts/virtual/node/virtual-device.js";
import { serve } from "../child.js";

export interface PlayersOptions {
	/** Of the gateway. */
	readonly url: string;
	readonly token: string;
	readonly serials: readonly string[];
}

interface Player {
	readonly deviceId: string;
	/** Milliseconds since 1970, by a clock that all processes have; undefined: it has played nothing since `forget`. */
	firstAt: number | undefined;
}

const players: Player[] = [];

const handlers = {
	/** @returns their ids */
	start: async ({ url, token, serials }: PlayersOptions) => {
		for (const serial of serials) {
			const settings = { gateway: `${url.replace("http", "ws")}/device`, token };
			const { deviceId, board } = await VirtualDevice.start({ model: "DEV-1", serial, settings });
			const player: Player = { deviceId, firstAt: undefined };
			board.listen({
				// Its first sample leaves the output with the start; onPlayed follows a block later.
				onSound: (sound) => {
					if (player.firstAt === undefined && sound?.samples.some((byte) => byte !== 0))
						player.firstAt = performance.timeOrigin + performance.now();
				},
			});
			players.push(player);
		}
		return players.map(({ deviceId }) => deviceId);
	},
	forget: () => {
		for (const player of players) player.firstAt = undefined;
	},
	/** @param ids of those that play @returns when each began, once all have */
	firsts: async (ids: readonly string[]) => {
		const playing = players.filter(({ deviceId }) => ids.includes(deviceId));
		for (;;) {
			const firsts = playing.flatMap(({ firstAt }) => firstAt ?? []);
			if (firsts.length === playing.length) return firsts;
			await setTimeout(20);
		}
	},
};

export type Players = typeof handlers;
serve(handlers);
