/** An announcement as the gateway's frames report it, device by device. */

import type { Play, PlayState } from "../../../api/announcement.js";

/** What needs attention first. */
export const playWords: Readonly<Record<PlayState, string>> = {
	failed: "failed",
	unsupported: "cannot play it",
	busy: "busy",
	away: "away",
	stopped: "stopped",
	waiting: "asked",
	ready: "ready",
	playing: "playing",
	played: "played",
};
const states = Object.keys(playWords);

const running: readonly PlayState[] = ["waiting", "ready", "playing"];

export class Plays {
	readonly #plays = new Map<string, Play>();

	/** What was read may be older than a frame that came meanwhile. */
	take(devices: readonly Play[]): void {
		for (const play of devices)
			if ((this.#plays.get(play.deviceId)?.at ?? "") <= play.at) this.#plays.set(play.deviceId, play);
	}

	/** Failures first; devices in the same state stay in the order in which they came. */
	get all(): readonly Play[] {
		return [...this.#plays.values()].sort((a, b) => states.indexOf(a.state) - states.indexOf(b.state));
	}

	/** All devices have ended. */
	get isOver(): boolean {
		return ![...this.#plays.values()].some(({ state }) => running.includes(state));
	}
}

/** "1 failed, 2 playing" */
export function countText(plays: readonly Play[]): string {
	const counts = new Map<PlayState, number>();
	for (const { state } of plays) counts.set(state, (counts.get(state) ?? 0) + 1);
	return Array.from(counts, ([state, count]) => `${count.toLocaleString("en")} ${playWords[state]}`).join(
		", ",
	);
}

/** "played, began 1.2 s after the others, waited for the network once" */
export function playText({ state, reason, lateMs, heardMs, underruns }: Play): string {
	const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
	const facts = [
		lateMs !== null && `began ${seconds(lateMs)} after the others`,
		heardMs !== null && state !== "played" && `heard for ${seconds(heardMs)}`,
		underruns > 0 && `waited for the network ${underruns === 1 ? "once" : `${underruns} times`}`,
	].filter((fact) => fact !== false);
	const words = [playWords[state], ...facts].join(", ");
	return reason === null ? words : `${words}: ${reason}`;
}
