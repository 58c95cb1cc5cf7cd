/** States of devices that play an announcement. */

import type { Play, PlayState } from "../../../api/announcement.js";
import type { JobKind } from "./job.js";

export const playKind: JobKind<PlayState> = {
	words: {
		failed: "failed",
		unsupported: "not supported",
		busy: "busy",
		away: "offline",
		expired: "expired",
		stopped: "stopped",
		preparing: "preparing",
		waiting: "waiting",
		ready: "ready",
		playing: "playing",
		resumed: "resumed",
		played: "played",
	},
	running: ["preparing", "waiting", "ready", "playing", "resumed"],
};

/** Describes a play: "played, started 1.2 s late, buffered once". */
export function playText({ state, reason, lateMs, heardMs, underruns }: Play): string {
	const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
	const facts = [
		lateMs !== null && `started ${seconds(lateMs)} late`,
		heardMs !== null && state !== "played" && `stopped after ${seconds(heardMs)}`,
		underruns > 0 && `buffered ${underruns === 1 ? "once" : `${underruns} times`}`,
	].filter((fact) => fact !== false);
	const words = [playKind.words[state], ...facts].join(", ");
	return reason === null ? words : `${words}: ${reason}`;
}
