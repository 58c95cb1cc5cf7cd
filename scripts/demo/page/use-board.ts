/** Subscribes to the board of a device while its page is visible. */

import { useEffect, useState } from "preact/hooks";
import { useIsLive } from "../../../gateway/dashboard/page/app/hooks.js";
import type { BoardEvents } from "../messages.js";
import { decodeSamples, type Heard, type Speaker } from "./speaker.js";

interface Streamed extends Omit<BoardEvents, "sound" | "more"> {
	/** Playing sound; null when silent. */
	readonly sound: Heard | null;
}

export interface BoardState extends Streamed {
	/** Shows sent inputs until the board reports its state. */
	readonly expect: (inputs: Partial<BoardEvents["inputs"]>) => void;
}

/** @param path URL path of the board @returns undefined without a connection */
export function useBoard(path: string, speaker: Speaker): BoardState | undefined {
	const isLive = useIsLive();
	const [board, setBoard] = useState<Partial<Streamed>>({});
	useEffect(() => {
		if (!isLive) return;
		let stream: EventSource | undefined;
		const add = (change: Partial<Streamed>) => setBoard((known) => ({ ...known, ...change }));
		const close = () => {
			stream?.close();
			stream = undefined;
			speaker.stop();
			setBoard({});
		};
		const open = () => {
			stream = new EventSource(`${path}/board`);
			const on = <Name extends keyof BoardEvents>(name: Name, take: (data: BoardEvents[Name]) => void) =>
				stream?.addEventListener(name, ({ data }: MessageEvent<string>) => take(JSON.parse(data)));
			on("inputs", (inputs) => add({ inputs }));
			on("ring", (ring) => add({ ring }));
			on("next", (next) => add({ next }));
			on("gain", (gain) => {
				speaker.gain = gain;
				add({ gain });
			});
			on("sound", (played) => {
				const sound = played && { samples: decodeSamples(played.samples), sampleRate: played.sampleRate };
				if (sound) speaker.play(sound);
				else speaker.stop();
				add({ sound });
			});
			on("more", (more) => {
				const samples = decodeSamples(more);
				speaker.append(samples);
				// The silence after a chime does not replace its samples in the meter.
				if (samples.some((sample) => sample !== 0))
					setBoard(({ sound, ...known }) => ({ ...known, sound: sound ? { ...sound, samples } : null }));
			});
			stream.addEventListener("error", () => {
				speaker.stop();
				setBoard({});
			});
		};
		// Browsers allow six streams per gateway, which visible pages need.
		const follow = () => {
			close();
			if (!document.hidden) open();
		};
		follow();
		document.addEventListener("visibilitychange", follow);
		return () => {
			document.removeEventListener("visibilitychange", follow);
			close();
		};
	}, [path, speaker, isLive]);
	const { inputs, ring, gain, next, sound = null } = board;
	if (!inputs || ring === undefined || gain === undefined || next === undefined) return undefined;
	const expect: BoardState["expect"] = (changed) =>
		setBoard((known) => ({ ...known, ...(known.inputs && { inputs: { ...known.inputs, ...changed } }) }));
	return { inputs, ring, gain, next, sound, expect };
}
