/** Recorder with elapsed time. */

import { useEffect, useRef, useState } from "preact/hooks";
import { maxSoundSeconds } from "../../../api/announcement.js";
import { countdown } from "../../../api/client/words.js";
import { Button } from "../parts/button.js";
import { Problem } from "../parts/problem.js";
import { useRequest } from "../parts/use-request.js";
import { Microphone } from "./microphone.js";

interface RecordingProps {
	/** Whether a recording exists. */
	readonly hasDraft: boolean;
	readonly onRecorded: (content: Blob) => void;
}

export function Recording({ hasDraft, onRecorded }: RecordingProps) {
	const [microphone, setMicrophone] = useState<Microphone>();
	const { run, isBusy, problem } = useRequest();
	const isGone = useRef(false);
	useEffect(
		() => () => {
			isGone.current = true;
		},
		[],
	);
	const start = () =>
		run(async () => {
			const opened = await Microphone.open();
			if (isGone.current) opened.close();
			else setMicrophone(opened);
		});
	const stop = (why?: string) =>
		run(async () => {
			if (!microphone) return;
			setMicrophone(undefined);
			onRecorded(await microphone.stop());
			if (why !== undefined) throw new Error(why);
		});
	if (microphone) return <Running microphone={microphone} onStop={stop} />;
	return (
		<div class="actions">
			<Button disabled={isBusy} onClick={start}>
				{hasDraft ? "Record again" : "Record"}
			</Button>
			{isBusy && <p class="hint">Allow access to the microphone in the browser's prompt.</p>}
			<Problem>{problem}</Problem>
		</div>
	);
}

interface RunningProps {
	readonly microphone: Microphone;
	/** @param why reason of an unexpected stop */
	readonly onStop: (why?: string) => unknown;
}

function Running({ microphone, onStop }: RunningProps) {
	const [seconds, setSeconds] = useState(0);
	const { problem } = microphone;
	useEffect(() => {
		const startedAt = performance.now();
		const timer = setInterval(() => setSeconds((performance.now() - startedAt) / 1000), 100);
		return () => {
			clearInterval(timer);
			microphone.close();
		};
	}, [microphone]);
	const isOver = problem !== undefined || seconds >= maxSoundSeconds;
	useEffect(() => {
		if (isOver) onStop(problem);
	}, [isOver]);
	return (
		<div class="recording">
			<Button look="primary" onClick={() => onStop()}>
				Stop recording
			</Button>
			<output aria-label="Recorded">
				{countdown(seconds)} of {countdown(maxSoundSeconds)}
			</output>
		</div>
	);
}
