/** Converts audio that the browser can decode to the format that devices play. */

import { sampleRate } from "../../../../device/peripherals/track.js";
import { magicBytes, nameFormat } from "../../../../device/sound/file-format.js";
import { maxSoundSeconds } from "../../../api/announcement.js";
import { duration, timeLeft } from "../../../api/client/words.js";
import { loudnessOf, normalize } from "./loudness.js";

type Samples = Float32Array<ArrayBuffer>;

/** Sound at `sampleRate` with normalized loudness. */
export interface Draft {
	readonly name: string;
	readonly samples: Samples;
	readonly seconds: number;
	/** Applied gain in dB. */
	readonly gainDb: number;
}

/** Maximum file size, since files are loaded into memory. */
const largestBytes = 100 << 20;
/** Loudness of the noise in a quiet room, in LUFS. */
const quietest = -60;
/** K-weighting of ITU-R BS.1770: a high shelf, then a high-pass filter with a Q of 0.5, in decibels. */
const weighting: readonly BiquadFilterOptions[] = [
	{ type: "highshelf", frequency: 1681.97, gain: 4 },
	{ type: "highpass", frequency: 38.135, Q: -6.015 },
];
/** Tolerance for a recorder that stops late. */
const lateSeconds = 1;
const nothingRecorded =
	"The recording is silent. Check which microphone the browser uses and whether it is muted, and record again.";

/** @param name used in errors @throws Error with a message to show */
export async function draftOf(content: Blob, name: string, isRecording: boolean): Promise<Draft> {
	if (content.size > largestBytes)
		throw new Error(`${name} is larger than ${largestBytes >> 20} MB. Choose a shorter one.`);
	const decoded = await decode(await content.arrayBuffer(), name).catch((error: unknown) => {
		// A recording without samples cannot be decoded.
		throw isRecording ? new Error(nothingRecorded) : error;
	});
	if (decoded.duration > maxSoundSeconds + (isRecording ? lateSeconds : 0))
		throw new Error(
			`${name} is ${timeLeft(Math.ceil(decoded.duration))} long. Shorten it to ${duration(maxSoundSeconds)}.`,
		);
	const samples = await render(decoded);
	const loudness = loudnessOf(await render(decoded, weighting));
	if (loudness < quietest)
		throw new Error(isRecording ? nothingRecorded : `${name} is silent. Choose another file.`);
	return { name, seconds: samples.length / sampleRate, ...normalize(samples, loudness) };
}

/** Decodes and resamples to `sampleRate`. @throws Error with a message to show */
async function decode(content: ArrayBuffer, name: string): Promise<AudioBuffer> {
	const kind = nameFormat(new Uint8Array(content).subarray(0, magicBytes));
	try {
		return await new OfflineAudioContext(1, 1, sampleRate).decodeAudioData(content);
	} catch {
		const what = kind === undefined ? name : `${name}, which is ${kind}`;
		throw new Error(`This browser cannot decode ${what}. Choose an audio file, such as WAV, MP3 or Ogg.`);
	}
}

/** Mixes at most `maxSoundSeconds` down to one channel by the rules of the Web Audio API. @param filters applied in order */
async function render(buffer: AudioBuffer, filters: readonly BiquadFilterOptions[] = []): Promise<Samples> {
	const length = Math.min(buffer.length, maxSoundSeconds * sampleRate);
	const context = new OfflineAudioContext(1, length, sampleRate);
	const source = new AudioBufferSourceNode(context, { buffer });
	const nodes = filters.map((options) => new BiquadFilterNode(context, options));
	nodes.reduce<AudioNode>((before, node) => before.connect(node), source).connect(context.destination);
	source.start();
	return (await context.startRendering()).getChannelData(0);
}
