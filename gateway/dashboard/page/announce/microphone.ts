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

export class Microphone {
	readonly #stream: MediaStream;
	readonly #recorder: MediaRecorder;
	readonly #stopped: Promise<unknown>;
	readonly #chunks: Blob[] = [];

	/** @throws Error with a message to show */
	static async open(): Promise<Microphone> {
		let stream: MediaStream | undefined;
		try {
			stream = await navigator.mediaDevices.getUserMedia({ audio: true });
			return new Microphone(stream);
		} catch (error) {
			if (stream) stopTracks(stream);
			const { name = "", message = "" } = error instanceof Error ? error : {};
			throw new Error(problems[name] ?? `Microphone unavailable: ${message}`);
		}
	}

	private constructor(stream: MediaStream) {
		this.#stream = stream;
		this.#recorder = new MediaRecorder(stream);
		this.#recorder.addEventListener("dataavailable", ({ data }) => this.#chunks.push(data));
		this.#stopped = new Promise((resolve) => this.#recorder.addEventListener("stop", resolve));
		this.#recorder.start();
	}

	/** Reason why the recording stopped; undefined while recording. */
	get problem(): string | undefined {
		if (this.#recorder.state === "recording") return undefined;
		const isGone = this.#stream.getTracks().every(({ readyState }) => readyState === "ended");
		const what = isGone ? "Microphone disconnected" : "Recording stopped by the browser";
		return `${what}. The recording until then is kept.`;
	}

	/** Stops recording. @returns the recording in a format that this browser decodes */
	async stop(): Promise<Blob> {
		if (this.#recorder.state !== "inactive") this.#recorder.stop();
		await this.#stopped;
		return new Blob(this.#chunks);
	}

	/** Releases the microphone. */
	close(): void {
		stopTracks(this.#stream);
	}
}

function stopTracks(stream: MediaStream): void {
	for (const track of stream.getTracks()) track.stop();
}
