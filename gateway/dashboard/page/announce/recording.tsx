/** Records: a button, the level while it runs, and the time. */

import { useEffect, useRef, useState } from "preact/hooks";
import { longestSeconds } from "../../../api/announcement.js";
import { Button } from "../parts/button.js";
import { Microphone } from "./microphone.js";

interface RecordingProps {
	/** Whether something was recorded before. */
	readonly hasDraft: boolean;
	readonly onRecorded: (content: Blob) => void;
}

export function Recording({ hasDraft, onRecorded }: RecordingProps) {
	const [microphone, setMicrophone] = useState<Microphone>();
	const [isOpening, setOpening] = useState(false);
	const isGone = useRef(false);
	useEffect(
		() => () => {
			isGone.current = true;
		},
		[],
	);
	const start = async () => {
		setOpening(true);
		try {
			const opened = await Microphone.open();
			if (isGone.current) opened.close();
			else setMicrophone(opened);
		} finally {
			setOpening(false);
		}
	};
	const stop = async () => {
		if (!microphone) return;
		setMicrophone(undefined);
		onRecorded(await microphone.stop());
	};
	if (microphone) return <Running microphone={microphone} onStop={stop} />;
	return (
		<div class="actions">
			<Button disabled={isOpening} onClick={start}>
				{hasDraft ? "Record again" : "Record"}
			</Button>
			{isOpening && <p class="hint">Allow the microphone where the browser asks.</p>}
		</div>
	);
}

function Running({ microphone, onStop }: { readonly microphone: Microphone; readonly onStop: () => void }) {
	const [{ seconds, level }, setNow] = useState({ seconds: 0, level: 0 });
	const stop = useRef(onStop);
	stop.current = onStop;
	useEffect(() => {
		const startedAt = performance.now();
		const timer = setInterval(() => {
			const passed = (performance.now() - startedAt) / 1000;
			setNow({ seconds: passed, level: microphone.level });
			if (passed >= longestSeconds) stop.current();
		}, 100);
		return () => {
			clearInterval(timer);
			microphone.close();
		};
	}, [microphone]);
	return (
		<div class="recording">
			<Button look="primary" onClick={onStop}>
				Stop recording
			</Button>
			<meter aria-label="Level" min={0} max={1} value={Math.sqrt(level)} />
			<output aria-label="Recorded">
				{clock(seconds)} of {clock(longestSeconds)}
			</output>
		</div>
	);
}

function clock(seconds: number): string {
	return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
