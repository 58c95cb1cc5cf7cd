/** Audio output and codec. The computer's sound card plays, and the panel shows the sound. */

import Resource from "Resource";
import { SilentOutput } from "moddable/silent-output";
import { chimes } from "protocol/messages";
import type { Panel } from "simulator/panel";
import type { Speaker } from "simulator/speaker";
import Time from "time";
import type { AudioOutputOptions, Codec } from "../../../device/host.js";

/** Signed 16-bit mono at 16 kHz. */
const bytesPerMs = 32;
/** Header size of Moddable's MAUD resources. */
const headerBytes = 12;
/** A sound stopped with more than this remaining counts as held. */
const endToleranceMs = 60;

export interface AudioOptions {
	readonly panel: Panel;
	/** Sound card, shared by output and codec. */
	readonly speaker: Speaker;
}

export class AudioOut extends SilentOutput {
	readonly #panel: Panel;
	readonly #speaker: Speaker;
	#startedAt: number | undefined;
	/** Undefined until samples are written. */
	#name: string | undefined;
	#writtenBytes = 0;
	/** End of the audible samples written so far; the firmware appends silence. */
	#endByte = 0;

	constructor(options: AudioOptions & AudioOutputOptions) {
		super(options);
		this.#panel = options.panel;
		this.#speaker = options.speaker;
	}

	override start(): void {
		super.start();
		this.#startedAt = Time.ticks;
		this.#speaker.start();
		if (this.#name !== undefined) this.#panel.post({ sound: { name: this.#name, isHeld: false } });
	}

	override stop(): void {
		super.stop();
		if (this.#startedAt !== undefined) {
			this.#speaker.stop();
			const isHeld = this.#endByte - Time.delta(this.#startedAt) * bytesPerMs > endToleranceMs * bytesPerMs;
			this.#panel.post({ sound: this.#name !== undefined && isHeld ? { name: this.#name, isHeld } : null });
		}
		this.#startedAt = undefined;
		this.#name = undefined;
		this.#writtenBytes = 0;
		this.#endByte = 0;
	}

	override write(samples: Uint8Array): void {
		super.write(samples);
		this.#speaker.play(samples);
		if (this.#startedAt === undefined) this.#name ??= chimeOf(samples) ?? "a sound";
		for (let end = samples.byteLength; end > 0; end--)
			if (samples[end - 1] !== 0) {
				this.#endByte = this.#writtenBytes + end;
				break;
			}
		this.#writtenBytes += samples.byteLength;
	}
}

/** @returns the name of the chime that ends with these samples */
function chimeOf(samples: Uint8Array): string | undefined {
	return chimes.find((name) => {
		const bytes = new Uint8Array(new Resource(`${name}.maud`));
		const offset = bytes.byteLength - samples.byteLength;
		return offset >= headerBytes && endsAlike(bytes.subarray(offset), samples);
	});
}

/** Compares 100 bytes in the middle, where the chimes differ. */
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
		// Steps of 0.5 dB, as in the ES8311.
		this.#speaker.gain = this.#isMuted || this.#volume === 0 ? 0 : 10 ** ((this.#volume - 100) / 40);
		this.#panel.post({ codec: { volume: this.#volume, isMuted: this.#isMuted } });
	}
}
