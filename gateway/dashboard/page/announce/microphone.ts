/** Recording with the microphone of this computer. */

const problems: Readonly<Record<string, string>> = {
	NotAllowedError:
		"This page may not use the microphone: allow it in the browser's settings for this site, and record again.",
	NotFoundError: "This computer has no microphone: connect one, or choose a file.",
	NotReadableError: "The microphone cannot be opened, perhaps because another program uses it: close that.",
	ReferenceError: "This browser cannot record: use another one, or choose a file.",
};

/** Reason why this page cannot record; empty if it can. */
export function recordingProblem(): string {
	const local = `http://localhost:${location.port || "80"}${location.pathname}`;
	if (!isSecureContext)
		return `The microphone needs https: start the gateway with TLS_CERT and TLS_KEY, or open ${local} on its computer.`;
	return navigator.mediaDevices ? "" : "This browser has no microphone for pages: use another one.";
}

export class Microphone {
	readonly #stream: MediaStream;
	readonly #recorder: MediaRecorder;
	readonly #stopped: Promise<unknown>;
	readonly #chunks: Blob[] = [];
	readonly #context: AudioContext;
	readonly #analyser: AnalyserNode;
	readonly #latest: Float32Array<ArrayBuffer>;

	/** @throws Error with a message to show */
	static async open(): Promise<Microphone> {
		let stream: MediaStream | undefined;
		try {
			stream = await navigator.mediaDevices.getUserMedia({ audio: true });
			return new Microphone(stream);
		} catch (error) {
			if (stream) letGo(stream);
			const { name = "", message = "" } = error instanceof Error ? error : {};
			throw new Error(problems[name] ?? `The microphone cannot be used: ${message}`);
		}
	}

	private constructor(stream: MediaStream) {
		this.#stream = stream;
		this.#recorder = new MediaRecorder(stream);
		this.#recorder.addEventListener("dataavailable", ({ data }) => this.#chunks.push(data));
		this.#stopped = new Promise((resolve) => this.#recorder.addEventListener("stop", resolve));
		this.#context = new AudioContext();
		this.#analyser = new AnalyserNode(this.#context, { fftSize: 1024 });
		this.#latest = new Float32Array(this.#analyser.fftSize);
		new MediaStreamAudioSourceNode(this.#context, { mediaStream: stream }).connect(this.#analyser);
		this.#recorder.start();
	}

	/** Peak of the latest samples, 0 to 1. */
	get level(): number {
		this.#analyser.getFloatTimeDomainData(this.#latest);
		return this.#latest.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
	}

	/** Whether the system or a hardware switch mutes the microphone. */
	get isMuted(): boolean {
		return this.#stream.getTracks().some(({ muted }) => muted);
	}

	/** Reason why the recording stopped; undefined while recording. */
	get problem(): string | undefined {
		if (this.#recorder.state === "recording") return undefined;
		const isGone = this.#stream.getTracks().every(({ readyState }) => readyState === "ended");
		const what = isGone ? "The microphone was disconnected" : "The browser stopped recording";
		return `${what}: what was recorded until then is kept.`;
	}

	/** Stops recording and releases the microphone. @returns the recording in a format that this browser decodes */
	async stop(): Promise<Blob> {
		if (this.#recorder.state !== "inactive") this.#recorder.stop();
		this.close();
		await this.#stopped;
		return new Blob(this.#chunks);
	}

	/** Releases the microphone. */
	close(): void {
		letGo(this.#stream);
		if (this.#context.state !== "closed") void this.#context.close();
	}
}

function letGo(stream: MediaStream): void {
	for (const track of stream.getTracks()) track.stop();
}
