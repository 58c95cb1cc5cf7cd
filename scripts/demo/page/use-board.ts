/** Subscribes to the board of a device while its page is visible. */

import { useEffect, useState } from "preact/hooks";
import { useIsLive } from "../../../gateway/dashboard/page/app/hooks.js";
import type { BoardEvents } from "../messages.js";
import { decodeSamples, type Speaker } from "./speaker.js";

interface Streamed extends Pick<BoardEvents, "inputs" | "ring" | "next"> {
	readonly isPlaying: boolean;
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
			});
			on("sound", (sound) => {
				if (sound) speaker.play(decodeSamples(sound.samples), sound.sampleRate);
				else speaker.stop();
				add({ isPlaying: sound !== null });
			});
			on("more", (more) => speaker.append(decodeSamples(more)));
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
	const { inputs, ring, next, isPlaying = false } = board;
	if (!inputs || ring === undefined || next === undefined) return undefined;
	const expect: BoardState["expect"] = (changed) =>
		setBoard((known) => ({ ...known, ...(known.inputs && { inputs: { ...known.inputs, ...changed } }) }));
	return { inputs, ring, next, isPlaying, expect };
}
