/** What a stand-in's Node half is: the firmware opened a channel of some kind, and this serves it. */

import { isRecord } from "../../../../device/protocol/schema.js";
import type { Board } from "../board.js";
import type { Channel, ChannelHandler } from "../machine.js";

/** What stand-ins share: the device that they belong to. */
export interface Surroundings {
	readonly board: Board;
	/** Milliseconds since 1970, as a time server would say. */
	readonly wallClock: () => number;
}

export type StandIn = (channel: Channel, surroundings: Surroundings) => ChannelHandler;

/** @throws Error where the firmware's half sent something else */
export function textOf(detail: unknown, name: string): string {
	const value = isRecord(detail) ? detail[name] : undefined;
	if (typeof value !== "string") throw new Error(`${name} must be a string`);
	return value;
}

/** @throws Error where the firmware's half sent something else */
export function numberOf(detail: unknown, name: string): number {
	const value = isRecord(detail) ? detail[name] : undefined;
	if (typeof value !== "number") throw new Error(`${name} must be a number`);
	return value;
}
