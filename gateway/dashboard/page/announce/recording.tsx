/** Recorder with elapsed time. */

import { useEffect, useRef, useState } from "preact/hooks";
import { maxSoundSeconds } from "../../../api/announcement.js";
import { countdown } from "../../../api/client/words.js";
import { Button } from "../parts/button.js";
import { Problem, useRequest } from "../parts/problem.js";
import { interruption, release, startRecording } from "./microphone.js";

interface RecordingProps {
	/** Whether a recording exists. */
	readonly hasDraft: boolean;
	readonly onRecorded: (content: Blob) => void;
}

export function Recording({ hasDraft, onRecorded }: RecordingProps) {
	const [recorder, setRecorder] = useState<MediaRecorder>();
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
			const started = await startRecording();
			if (isGone.current) release(started.stream);
			else setRecorder(started);
		});
	const onStopped = (content: Blob, why?: string) =>
		run(async () => {
			setRecorder(undefined);
			onRecorded(content);
			if (why !== undefined) throw new Error(why);
		});
	if (recorder) return <Running recorder={recorder} onStopped={onStopped} />;
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
	readonly recorder: MediaRecorder;
	/** @param why reason of an unexpected stop */
	readonly onStopped: (content: Blob, why?: string) => unknown;
}

function Running({ recorder, onStopped }: RunningProps) {
	const [seconds, setSeconds] = useState(0);
	const isStopping = useRef(false);
	const stop = () => {
		if (!isStopping.current) recorder.stop();
		isStopping.current = true;
	};
	useEffect(() => {
		const startedAt = performance.now();
		const timer = setInterval(() => {
			const recorded = (performance.now() - startedAt) / 1000;
			setSeconds(recorded);
			if (recorded >= maxSoundSeconds) stop();
		}, 100);
		// Sent once, at the end.
		recorder.ondataavailable = ({ data }) =>
			onStopped(data, isStopping.current ? undefined : interruption(recorder));
		return () => {
			clearInterval(timer);
			recorder.ondataavailable = null;
			release(recorder.stream);
		};
	}, [recorder]);
	return (
		<div class="recording">
			<Button look="primary" onClick={stop}>
				Stop recording
			</Button>
			<output aria-label="Recorded">
				{countdown(seconds)} of {countdown(maxSoundSeconds)}
			</output>
		</div>
	);
}
