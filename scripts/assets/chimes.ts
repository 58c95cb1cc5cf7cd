/**
 * Generates the chimes of the devices: `node --import tsx scripts/assets/chimes.ts`. The WAV files are committed, since mcconfig
 * requires files.
 */

import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { sampleRate } from "../../device/peripherals/track.js";
import { chimes } from "../../device/protocol/messages.js";
import { writeWav } from "../../gateway/api/wav.js";

/** Peak at 4/5 of full scale, so that no codec setting clips. */
const peak = (0.8 * 32_767) / 32_768;
const fadeSeconds = 0.02;

interface Note {
	/** Start in seconds. */
	readonly at: number;
	/** MIDI number; 69 is A4, 440 Hz. */
	readonly pitch: number;
	readonly loudness: number;
}
interface Score {
	/** Duration in seconds; must fit the audio queue (device/peripherals/audio.ts). */
	readonly length: number;
	readonly notes: readonly Note[];
}

const scores: Readonly<Record<(typeof chimes)[number], Score>> = {
	startup: {
		length: 0.635,
		notes: [
			{ at: 0, pitch: 72, loudness: 0.8 },
			{ at: 0.1, pitch: 76, loudness: 0.8 },
			{ at: 0.2, pitch: 79, loudness: 0.9 },
			{ at: 0.3, pitch: 84, loudness: 1 },
		],
	},
	wifi_connecting: {
		length: 0.4,
		notes: [
			{ at: 0, pitch: 74, loudness: 0.7 },
			{ at: 0.16, pitch: 74, loudness: 0.5 },
		],
	},
	wifi_connected: {
		length: 0.5,
		notes: [
			{ at: 0, pitch: 79, loudness: 0.8 },
			{ at: 0.12, pitch: 84, loudness: 1 },
		],
	},
	attention: {
		length: 0.635,
		notes: [
			{ at: 0, pitch: 76, loudness: 0.8 },
			{ at: 0.24, pitch: 72, loudness: 0.8 },
		],
	},
};

/** Sound of a struck bar: the note, its octave and its twelfth; higher partials decay faster. */
function bar(pitch: number, seconds: number): number {
	if (seconds < 0) return 0;
	const frequency = 440 * 2 ** ((pitch - 69) / 12);
	const attack = Math.min(1, seconds / 0.005);
	const partial = (multiple: number, level: number, decay: number) =>
		level * Math.exp(-seconds * decay) * Math.sin(2 * Math.PI * frequency * multiple * seconds);
	return attack * (partial(1, 1, 6) + partial(2, 0.3, 10) + partial(3, 0.12, 18));
}

/** Encodes a chime as a WAV file: PCM, 16 kHz, mono, 16 bits. */
export function makeChime(name: (typeof chimes)[number]): Uint8Array {
	const { length, notes } = scores[name];
	const count = Math.round(length * sampleRate);
	const sound = Array.from({ length: count }, (_, index) => {
		const seconds = index / sampleRate;
		const fadeOut = Math.min(1, (length - seconds) / fadeSeconds);
		return fadeOut * notes.reduce((sum, note) => sum + note.loudness * bar(note.pitch, seconds - note.at), 0);
	});
	const loudest = Math.max(...sound.map(Math.abs));
	return writeWav(sound.map((value) => (value / loudest) * peak));
}

export function chimePath(name: string): string {
	return fileURLToPath(new URL(`../../device/chimes/${name}.wav`, import.meta.url));
}

if (process.argv[1] === fileURLToPath(import.meta.url))
	for (const name of chimes) writeFileSync(chimePath(name), makeChime(name));
