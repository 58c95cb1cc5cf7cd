/** Records with the microphone of this computer. */

const insecure =
	"Browsers let a page use the microphone only over https or on localhost: open this page so, or choose a file.";
const problems: Readonly<Record<string, string>> = {
	NotAllowedError:
		"This page may not use the microphone: allow it in the browser's settings for this site, and record again.",
	NotFoundError: "This computer has no microphone: connect one, or choose a file.",
	NotReadableError: "The microphone cannot be opened, perhaps because another program uses it: close that.",
};

export class Microphone {
	readonly #stream: MediaStream;
	readonly #recorder: MediaRecorder;
	readonly #chunks: Blob[] = [];
	readonly #context = new AudioContext();
	readonly #analyser = new AnalyserNode(this.#context, { fftSize: 1024 });
	readonly #latest = new Float32Array(this.#analyser.fftSize);

	/** @throws Error that says what to change */
	static async open(): Promise<Microphone> {
		if (!navigator.mediaDevices) throw new Error(insecure);
		try {
			return new Microphone(await navigator.mediaDevices.getUserMedia({ audio: true }));
		} catch (error) {
			const { name = "", message = "" } = error instanceof Error ? error : {};
			throw new Error(problems[name] ?? `The microphone cannot be used: ${message}`);
		}
	}

	private constructor(stream: MediaStream) {
		this.#stream = stream;
		this.#recorder = new MediaRecorder(stream);
		this.#recorder.addEventListener("dataavailable", ({ data }) => this.#chunks.push(data));
		new MediaStreamAudioSourceNode(this.#context, { mediaStream: stream }).connect(this.#analyser);
		this.#recorder.start();
	}

	/** The highest of the latest samples, 0 to 1. */
	get level(): number {
		this.#analyser.getFloatTimeDomainData(this.#latest);
		return this.#latest.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
	}

	/** Ends the recording. @returns it, in a format that this browser decodes */
	async stop(): Promise<Blob> {
		const isStopped = new Promise((resolve) =>
			this.#recorder.addEventListener("stop", resolve, { once: true }),
		);
		if (this.#recorder.state === "recording") {
			this.#recorder.stop();
			await isStopped;
		}
		this.close();
		return new Blob(this.#chunks);
	}

	/** Lets the microphone go. */
	close(): void {
		for (const track of this.#stream.getTracks()) track.stop();
		if (this.#context.state !== "closed") void this.#context.close();
	}
}
