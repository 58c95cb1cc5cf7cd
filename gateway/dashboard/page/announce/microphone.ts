/** Recording with the microphone of this computer. */

const problems: Readonly<Record<string, string>> = {
	NotAllowedError: "Microphone access denied. Allow it in the browser's site settings and record again.",
	NotFoundError: "No microphone found. Connect one, or choose a file.",
	NotReadableError: "Microphone unavailable. Close other programs that may use it.",
	ReferenceError: "This browser cannot record. Use another one, or choose a file.",
};

/** Reason why this page cannot record; empty if it can. */
export function recordingProblem(): string {
	const local = `http://localhost:${location.port || "80"}${location.pathname}`;
	if (!isSecureContext)
		return `Recording requires https. Start the gateway with TLS_CERT and TLS_KEY, or open ${local} on its computer.`;
	return navigator.mediaDevices ? "" : "This browser cannot record. Use another one, or choose a file.";
}

/** Starts a recording in a format that this browser decodes. @throws Error with a message to show */
export async function startRecording(): Promise<MediaRecorder> {
	let stream: MediaStream | undefined;
	try {
		stream = await navigator.mediaDevices.getUserMedia({ audio: true });
		const recorder = new MediaRecorder(stream);
		recorder.start();
		return recorder;
	} catch (error) {
		if (stream) release(stream);
		const { name = "", message = "" } = error instanceof Error ? error : {};
		throw new Error(problems[name] ?? `Microphone unavailable: ${message}`);
	}
}

/** Returns the reason of a recording that ended by itself. */
export function interruption({ stream }: MediaRecorder): string {
	const isGone = stream.getTracks().every(({ readyState }) => readyState === "ended");
	const what = isGone ? "Microphone disconnected" : "Recording stopped by the browser";
	return `${what}. The recording until then is kept.`;
}

/** Releases the microphone. */
export function release(stream: MediaStream): void {
	for (const track of stream.getTracks()) track.stop();
}
