/** Audio output and codec. The computer's sound card plays, and the panel shows volume and activity. */

import { SilentOutput } from "moddable/silent-output";
import type { Panel, PanelOptions } from "simulator/panel";
import type { Speaker } from "simulator/speaker";
import type { AudioOutputOptions, Codec } from "../../../device/host.js";

export interface AudioOptions extends Pick<PanelOptions, "panel"> {
	/** Sound card, shared by output and codec. */
	readonly speaker: Speaker;
}

export class AudioOut extends SilentOutput {
	readonly #panel: Panel;
	readonly #speaker: Speaker;

	constructor(options: AudioOptions & AudioOutputOptions) {
		super(options);
		this.#panel = options.panel;
		this.#speaker = options.speaker;
	}

	override start(): void {
		super.start();
		this.#speaker.start();
		this.#panel.post({ isPlaying: true });
	}

	override stop(): void {
		super.stop();
		this.#speaker.stop();
		this.#panel.post({ isPlaying: false });
	}

	override write(samples: Uint8Array): void {
		super.write(samples);
		this.#speaker.play(samples);
	}
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
		this.#panel.post({ volume: this.#volume });
	}
}
