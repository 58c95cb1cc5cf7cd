/**
 * Sound player of a device in Node: the firmware's code over an output, a codec and a server in memory, in virtual
 * time, so that hundreds of sounds can be interrupted in a second.
 */

import type { CommandRejection, Component } from "../../../device/component.js";
import type { AudioOutput, AudioOutputOptions, ButtonName, Codec } from "../../../device/host.js";
import type { Audio } from "../../../device/peripherals/audio.js";
import { type ControlledPeripherals, Controls } from "../../../device/peripherals/controls.js";
import { createAudio } from "../../../device/peripherals/peripherals.js";
import type { Command, CommandOf, QuietHours } from "../../../device/protocol/messages.js";
import { Results, type SoundUpdate } from "../../../device/sound/results.js";
import { Sounds } from "../../../device/sound/sounds.js";
import { bytesPerSecond, noise, wav } from "../../support/sounds.js";
import { MemoryServer, type ServerOptions } from "../update/server.js";
import Timer, { clock } from "../update/timer.js";

declare global {
	function trace(...texts: unknown[]): void;
}

globalThis.trace = () => {};

const blockBytes = 4092;
const blockMs = 127.875;
const bufferBytes = 40_960;

/** Samples that are never near 0, even in a fade. */
export function loudNoise(count: number): Int16Array {
	let state = 1;
	return Int16Array.from({ length: count }, () => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		const loudness = 1000 + (state >>> 18);
		return state & 0x10000 ? loudness : -loudness;
	});
}

/** Largest number of bytes moved in a turn. */
class Work {
	most = 0;
	#turn = 0;
	#bytes = 0;

	add(byteCount: number): void {
		this.#bytes = clock.turns === this.#turn ? this.#bytes + byteCount : byteCount;
		this.#turn = clock.turns;
		this.most = Math.max(this.most, this.#bytes);
	}
}

/** Faults of the output. */
export type OutputFault = "does not open" | "rejects to start" | "rejects samples" | "asks for none";

/** Blocks, as on the boards: five of six fit before it starts. */
class Output implements AudioOutput {
	/** All samples written to it. */
	readonly written: Buffer[] = [];
	readonly work = new Work();
	readonly #onWritable: () => void;
	readonly #blockMs: number;
	/** Samples since it last stopped. */
	#run: Buffer[] = [];
	#startedAtMs: number | undefined;
	#playedBlocks = 0;
	#writtenBytes = 0;
	#timer: Timer | undefined;

	/** Current fault, or undefined. */
	readonly #fault: () => OutputFault | undefined;

	constructor(options: AudioOutputOptions, slowness: number, fault: () => OutputFault | undefined) {
		if (fault() === "does not open") throw new Error("no channel");
		this.#fault = fault;
		this.#onWritable = options.onWritable;
		this.#blockMs = blockMs * slowness;
	}

	start(): void {
		if (this.#fault() === "rejects to start") throw new Error("no clock");
		this.#startedAtMs = clock.now;
		this.#next();
	}

	stop(): void {
		Timer.clear(this.#timer);
		this.#startedAtMs = undefined;
		this.#playedBlocks = 0;
		this.#writtenBytes = 0;
		this.#run = [];
	}

	/** Samples that have left it since it started. */
	get played(): Int16Array {
		const byteCount = this.#startedAtMs === undefined ? 0 : (clock.now - this.#startedAtMs) * 32;
		return new Int16Array(Uint8Array.from(Buffer.concat(this.#run).subarray(0, byteCount)).buffer);
	}

	write(samples: Uint8Array): void {
		if (this.#fault() === "rejects samples" && this.#startedAtMs !== undefined) throw new Error("no memory");
		const fitting = this.#startedAtMs === undefined ? 5 : this.#playedBlocks + 6;
		if (this.#writtenBytes + samples.byteLength > fitting * blockBytes) throw new Error("insufficient space");
		if (samples.byteLength % 2 !== 0) throw new Error("full samples only");
		this.#writtenBytes += samples.byteLength;
		const copy = Buffer.from(samples);
		this.written.push(copy);
		this.#run.push(copy);
		this.work.add(samples.byteLength);
	}

	close(): void {}

	#next(): void {
		if (this.#startedAtMs === undefined) return;
		const dueMs = this.#startedAtMs + (this.#playedBlocks + 1) * this.#blockMs;
		this.#timer = Timer.set(
			() => {
				this.#playedBlocks += 1;
				this.#writtenBytes = Math.max(this.#writtenBytes, this.#playedBlocks * blockBytes);
				this.#next();
				if (this.#fault() !== "asks for none") this.#onWritable();
			},
			Math.ceil(dueMs - clock.now),
		);
	}
}

class MemoryCodec implements Codec {
	/** Whether it answers the next check. */
	isAnswering = true;
	isReady = true;
	volume = -1;
	#isMuted = true;
	onMuted = (_isMuted: boolean) => {};

	get isMuted(): boolean {
		return this.#isMuted;
	}

	set isMuted(isMuted: boolean) {
		if (isMuted === this.#isMuted) return;
		this.#isMuted = isMuted;
		this.onMuted(isMuted);
	}

	check(): void {
		this.isReady = this.isAnswering;
	}

	close(): void {}
}

export interface RigOptions {
	readonly server: MemoryServer;
	/** Volume set by hand. */
	readonly volume: number;
	/** Speed of the output's clock relative to the system clock; default: 1. */
	readonly slowness?: number;
	readonly fault?: OutputFault;
	/** Default: 0. */
	readonly leadInMs?: number;
	readonly onUpdate: (update: SoundUpdate) => void;
	/** Default: empty. */
	readonly memory?: Memory;
}

/** Survives a restart. */
export class Memory {
	/** JSON of the sound that was heard last. */
	sound = "";
	writes = 0;

	remembered(): string {
		return this.sound;
	}

	remember(name: "sound", text: string): void {
		if (this[name] === text) return;
		this[name] = text;
		this.writes += 1;
	}

	flush(): void {}
}

export class Rig {
	/** Current fault of the output. */
	fault: OutputFault | undefined;
	readonly audio: Audio;
	readonly sounds: Sounds;
	readonly codec: MemoryCodec;
	/** Samples by track, between two moments at which the codec was muted. */
	readonly heard: { readonly uri: string; readonly samples: Int16Array }[] = [];
	readonly #outputs: Output[] = [];
	readonly reading = new Work();
	#isUpdating = false;

	constructor(options: RigOptions) {
		const { server, volume, slowness = 1, fault, leadInMs = 0, onUpdate, memory = new Memory() } = options;
		this.fault = fault;
		const currentFault = () => this.fault;
		const codecs: MemoryCodec[] = [];
		const outputs = this.#outputs;
		server.onRead = (byteCount) => this.reading.add(byteCount);
		this.audio = createAudio({
			parts: {
				audioOutput: class extends Output {
					readonly leadInMs = leadInMs;

					constructor(options: AudioOutputOptions) {
						super(options, slowness, currentFault);
						outputs.push(this);
					}
				},
				codec: class extends MemoryCodec {
					constructor() {
						super();
						codecs.push(this);
					}
				},
			},
			settings: {
				number: (name, _minimum, _maximum, fallback) => (name === "volume" ? volume : fallback),
				remember: () => {},
			},
			now: () => clock.now,
			onChanged: () => {},
		});
		const codec = codecs[0] ?? new MemoryCodec();
		let uri = "";
		codec.onMuted = (isMuted) => {
			if (isMuted) this.heard.push({ uri, samples: this.output?.played ?? new Int16Array() });
			else uri = this.audio.report.current_track;
		};
		this.codec = codec;
		this.sounds = new Sounds({
			audio: this.audio,
			results: new Results(memory),
			bufferBytes,
			http: server.access(),
			isUpdating: () => this.#isUpdating,
			onActive: () => {},
			now: () => clock.now,
			send: onUpdate,
			afterTurn: (action) => void Timer.set(action),
		});
	}

	get output(): Output | undefined {
		return this.#outputs[0];
	}

	/** Executes a command to the end of its turn. @returns the reason of a rejection */
	execute(command: Command): CommandRejection | undefined {
		const executing: readonly Component[] = [new Controls(this.#peripherals), this.sounds];
		const answers = executing.map((component) => component.execute?.(command));
		this.sounds.flush();
		const answer = answers.find((found) => found !== undefined);
		return answer === "executed" ? undefined : answer;
	}

	/** Applies a button press as rules.ts does. */
	press(name: ButtonName): void {
		switch (name) {
			case "play":
				if (!this.#isUpdating) this.audio.toggle();
				return;
			case "mute":
				return this.audio.toggleMute();
			case "volumeUp":
				return this.audio.changeVolume(5);
			case "volumeDown":
				return this.audio.changeVolume(-5);
		}
	}

	/** Starts an update as firmware.ts does. */
	set isUpdating(isUpdating: boolean) {
		this.#isUpdating = isUpdating;
		if (isUpdating) this.audio.stop();
		this.sounds.onUpdate(isUpdating);
		this.sounds.flush();
	}

	get #peripherals(): ControlledPeripherals {
		const shows = { preset() {}, identify() {}, showVolume() {}, showLight() {} };
		const ring = { isUpdating: this.#isUpdating, brightness: 1, ...shows };
		const { audio } = this;
		const quiet = {
			/** Sets quiet hours that are active at any time. */
			set(hours: QuietHours | null) {
				audio.quiet = hours ?? undefined;
			},
		};
		return { audio, ring, haptics: undefined, roomBrightness: undefined, quiet };
	}
}

/** Starts a player in virtual time, by default with sounds of 4 s. */
export function start(server: Partial<ServerOptions> = {}, options: Partial<RigOptions> = {}) {
	clock.clear();
	const updates: SoundUpdate[] = [];
	const from = new MemoryServer({ file: wav(noise(4 * bytesPerSecond)), ...server });
	const rig = new Rig({ server: from, volume: 50, onUpdate: (update) => updates.push(update), ...options });
	const play = (value: Partial<CommandOf<"play_sound">["value"]> = {}) =>
		rig.execute({ command: "play_sound", value: { id: "a", url: "http://10.0.0.1/a.wav", ...value } });
	const lastOf = (id: string) => updates.findLast((update) => update.id === id);
	return { rig, server: from, updates, play, lastOf };
}
