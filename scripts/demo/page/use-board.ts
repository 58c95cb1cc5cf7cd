/** Subscribes to the board of a device while its page is visible. */

import { useEffect, useState } from "preact/hooks";
import { useIsLive } from "../../../gateway/dashboard/page/app/hooks.js";
import type { BoardState } from "../messages.js";
import type { Speaker } from "./speaker.js";

type Streamed = Partial<Pick<BoardState, "inputs" | "ring" | "next" | "sound">>;

export interface ShownBoard extends Pick<BoardState, "inputs" | "ring" | "next"> {
	readonly isPlaying: boolean;
	/** Shows sent inputs until the board reports its state. */
	readonly expect: (inputs: Partial<BoardState["inputs"]>) => void;
}

/** @param path URL path of the board @returns undefined without a connection */
export function useBoard(path: string, speaker: Speaker): ShownBoard | undefined {
	const isLive = useIsLive();
	const [board, setBoard] = useState<Streamed>({});
	useEffect(() => {
		if (!isLive) return;
		let stream: EventSource | undefined;
		const close = () => {
			stream?.close();
			stream = undefined;
			speaker.stop();
			setBoard({});
		};
		const open = () => {
			stream = new EventSource(`${path}/board`);
			stream.addEventListener("message", ({ data }: MessageEvent<string>) => {
				const { gain, ...shown }: Partial<BoardState> = JSON.parse(data);
				if (gain !== undefined) speaker.gain = gain;
				if (shown.sound === null) speaker.stop();
				else if (shown.sound !== undefined) speaker.play(shown.sound);
				setBoard((known) => ({ ...known, ...shown }));
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
	const { inputs, ring, next, sound } = board;
	if (!inputs || ring === undefined || next === undefined) return undefined;
	const expect: ShownBoard["expect"] = (changed) =>
		setBoard((known) => ({ ...known, ...(known.inputs && { inputs: { ...known.inputs, ...changed } }) }));
	return { inputs, ring, next, isPlaying: typeof sound === "string", expect };
}
