/** Brings what the browser can decode to what devices play. */

import { sampleRate } from "../../../../device/peripherals/track.js";
import { magicBytes, nameFormat } from "../../../../device/sound/file-format.js";
import { longestSeconds } from "../../../api/announcement.js";
import { duration, timeLeft } from "../../../api/client/words.js";
import { level, loudnessOf } from "./loudness.js";

type Samples = Float32Array<ArrayBuffer>;

/** A sound as it will be played: of `sampleRate`, as loud as others. */
export interface Draft {
	readonly name: string;
	readonly samples: Samples;
	readonly seconds: number;
	/** By which it was made louder. */
	readonly gainDb: number;
}

/** More is not read into memory. */
const largestBytes = 100 << 20;
/** LUFS: the noise of a quiet room. */
const quietest = -60;
/** The K-weighting of ITU-R BS.1770: a shelf for the head, then a high-pass filter; Q is 0.5, in decibels. */
const weighting: readonly BiquadFilterOptions[] = [
	{ type: "highshelf", frequency: 1681.97, gain: 4 },
	{ type: "highpass", frequency: 38.135, Q: -6.015 },
];
/** A recorder ends a little after it was told to. */
const lateSeconds = 1;
const nothingRecorded =
	"Nothing can be heard in the recording: check which microphone the browser uses and whether it is muted, and record again.";

/** @param name of it, for the errors @throws Error that says what to change */
export async function draftOf(content: Blob, name: string, isRecording: boolean): Promise<Draft> {
	if (content.size > largestBytes)
		throw new Error(`${name} is larger than ${largestBytes >> 20} MB: choose a shorter one.`);
	const decoded = await decode(await content.arrayBuffer(), name).catch((error: unknown) => {
		// Without a single sample there is nothing to decode.
		throw isRecording ? new Error(nothingRecorded) : error;
	});
	if (decoded.duration > longestSeconds + (isRecording ? lateSeconds : 0))
		throw new Error(
			`${name} is ${timeLeft(Math.ceil(decoded.duration))} long: shorten it to ${duration(longestSeconds)}.`,
		);
	const samples = await render(decoded);
	const loudness = loudnessOf(await render(decoded, weighting));
	if (loudness < quietest)
		throw new Error(isRecording ? nothingRecorded : `Nothing can be heard in ${name}: choose another file.`);
	return { name, seconds: samples.length / sampleRate, ...level(samples, loudness) };
}

/** @returns it at `sampleRate` @throws Error that says what to change */
async function decode(content: ArrayBuffer, name: string): Promise<AudioBuffer> {
	const kind = nameFormat(new Uint8Array(content).subarray(0, magicBytes));
	try {
		return await new OfflineAudioContext(1, 1, sampleRate).decodeAudioData(content);
	} catch {
		const what = kind === undefined ? name : `${name}, which is ${kind}`;
		throw new Error(`This browser cannot decode ${what}: choose an audio file, such as a WAV, MP3 or Ogg.`);
	}
}

/** At most `longestSeconds` of it as one channel, by the rules of the Web Audio API. @param filters that it passes */
async function render(buffer: AudioBuffer, filters: readonly BiquadFilterOptions[] = []): Promise<Samples> {
	const length = Math.min(buffer.length, longestSeconds * sampleRate);
	const context = new OfflineAudioContext(1, length, sampleRate);
	const source = new AudioBufferSourceNode(context, { buffer });
	const nodes = filters.map((options) => new BiquadFilterNode(context, options));
	nodes.reduce<AudioNode>((before, node) => before.connect(node), source).connect(context.destination);
	source.start();
	return (await context.startRendering()).getChannelData(0);
}
