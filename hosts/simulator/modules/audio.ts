/** Audio output and codec: the computer's sound card plays, and the panel shows which chime it is. */

import Resource from "Resource";
import { SilentOutput } from "moddable/silent-output";
import type { Panel } from "simulator/panel";
import type { Speaker } from "simulator/speaker";
import type { AudioOutputOptions, Codec } from "../../../device/host.js";

/** Signed 16-bit mono at 16 kHz. */
const bytesPerMs = 32;
/** Of Moddable's MAUD resources. */
const headerBytes = 12;
const sounds = Object.freeze(["startup", "wifi_connecting", "wifi_connected"]);

export interface AudioOptions {
	readonly panel: Panel;
	/** What the output and the codec have in common. */
	readonly speaker: Speaker;
}

export class AudioOut extends SilentOutput {
	readonly #panel: Panel;
	readonly #speaker: Speaker;
	#isStarted = false;
	#sound: { name: string; fromMs: number; lengthMs: number } | undefined;

	constructor(options: AudioOptions & AudioOutputOptions) {
		super(options);
		this.#panel = options.panel;
		this.#speaker = options.speaker;
	}

	override start(): void {
		super.start();
		this.#isStarted = true;
		this.#speaker.start();
		if (this.#sound) this.#panel.post({ sound: this.#sound });
	}

	override stop(): void {
		super.stop();
		if (this.#isStarted) this.#speaker.stop();
		this.#isStarted = false;
		this.#sound = undefined;
		this.#panel.post({ sound: null });
	}

	override write(samples: Uint8Array): void {
		super.write(samples);
		this.#speaker.play(samples);
		if (!this.#isStarted) this.#sound ??= recognised(samples);
	}
}

/** @returns the sound in flash that ends with these samples */
function recognised(samples: Uint8Array): { name: string; fromMs: number; lengthMs: number } | undefined {
	for (const name of sounds) {
		const bytes = new Uint8Array(new Resource(`${name}.maud`));
		const offset = bytes.byteLength - samples.byteLength;
		if (offset < headerBytes || !endsAlike(bytes.subarray(offset), samples)) continue;
		return {
			name,
			fromMs: (offset - headerBytes) / bytesPerMs,
			lengthMs: (bytes.byteLength - headerBytes) / bytesPerMs,
		};
	}
	return undefined;
}

/** Compares a hundred bytes in the middle, in which the sounds differ. */
function endsAlike(a: Uint8Array, b: Uint8Array): boolean {
	const middle = b.byteLength >> 1;
	for (let index = middle; index < Math.min(middle + 100, b.byteLength); index++)
		if (a[index] !== b[index]) return false;
	return true;
}

export class AudioCodec implements Codec {
	readonly #panel: Panel;
	readonly #speaker: Speaker;
	#volume = 0;
	#isMuted = true;

	constructor(options: AudioOptions) {
		this.#panel = options.panel;
		this.#speaker = options.speaker;
	}

	get isReady(): boolean {
		return true;
	}

	get volume(): number {
		return this.#volume;
	}

	set volume(volume: number) {
		this.#volume = volume;
		this.#show();
	}

	get isMuted(): boolean {
		return this.#isMuted;
	}

	set isMuted(isMuted: boolean) {
		this.#isMuted = isMuted;
		this.#show();
	}

	check(): void {}

	close(): void {}

	#show(): void {
		// As the ES8311's: 0.5 dB a step.
		this.#speaker.gain = this.#isMuted || this.#volume === 0 ? 0 : 10 ** ((this.#volume - 100) / 40);
		this.#panel.post({ codec: { volume: this.#volume, isMuted: this.#isMuted } });
	}
}
