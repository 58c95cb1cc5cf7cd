import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { WavHeader } from "../../../device/sound/wav-header.js";
import { runs } from "../../support/property-runs.js";
import { chunk, noise, wav } from "../../support/sounds.js";

/** Reads a file in pieces, as a stream does. @returns where the samples begin; undefined: the file ended before */
function read(header: WavHeader, file: Uint8Array, pieces: readonly number[] = [64]): number | undefined {
	let at = 0;
	for (let index = 0; at < file.length && !header.isWhole; index++) {
		const most = Math.max(1, pieces[index % pieces.length] ?? 1);
		const count = Math.min(most, header.wantedBytes, file.length - at);
		assert.ok(count > 0, "it always takes something");
		header.write(file.subarray(at, at + count));
		at += count;
	}
	return header.isWhole ? at : undefined;
}

const name = fc.constantFrom("LIST", "fact", "cue ", "JUNK", "bext");
const chunks = fc.array(fc.tuple(name, fc.uint8Array({ maxLength: 900 })), { maxLength: 4 });
const pieces = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 5 });

test("a header is read the same in whatever pieces it comes, with any chunks before the samples", () => {
	fc.assert(
		fc.property(
			chunks,
			fc.integer({ min: 1, max: 500 }),
			fc.boolean(),
			pieces,
			(others, count, isExtensible, cuts) => {
				const samples = noise(count * 2);
				const before = Buffer.concat(others.map(([each, body]) => chunk(each, body)));
				const plain = wav(samples, { before, after: chunk("LIST", Buffer.from("later")) });
				const file = isExtensible ? extended(plain) : plain;
				const header = new WavHeader();
				const start = read(header, file, cuts);
				assert.equal(header.dataBytes, samples.length);
				assert.ok(start !== undefined && file.subarray(start, start + samples.length).equals(samples));
				assert.equal(header.wantedBytes, 0);
			},
		),
		{ numRuns: runs(2000) },
	);
});

test("any bytes are refused with a sentence, end before the samples, or are a header; within 16 KB", () => {
	const start = wav(noise(100)).subarray(0, 60);
	const damaged = fc
		.tuple(fc.nat({ max: start.length - 1 }), fc.nat({ max: 255 }), fc.uint8Array({ maxLength: 40_000 }))
		.map(([at, value, rest]) => {
			const file = Buffer.concat([start, rest]);
			file[at] = value;
			return file;
		});
	fc.assert(
		fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 300 })), pieces, (bytes, cuts) => {
			const header = new WavHeader();
			try {
				const at = read(header, bytes, cuts);
				assert.ok((at ?? 0) <= 16_384);
			} catch (error) {
				assert.ok(error instanceof Error && /^(The|At this) [^\n]+\.$/.test(error.message), String(error));
			}
		}),
		{ numRuns: runs(5000) },
	);
});

test("what is no WAV of 16 kHz, mono, 16 bit PCM is named", () => {
	const refusal = (file: Uint8Array) => {
		try {
			return read(new WavHeader(), file);
		} catch (error) {
			return error instanceof Error ? error.message : error;
		}
	};
	const padded = (text: string) => Buffer.from(text.padEnd(40), "latin1");
	const samples = noise(64);
	const wanted = "it must be a WAV of 16000 Hz, mono, 16 bit PCM.";
	for (const [file, message] of [
		[padded("<html>"), "At this address is HTML and not a WAV."],
		[padded("\n\n<!DOCTYPE html>"), "At this address is HTML and not a WAV."],
		[padded("ID3\x04"), "At this address is an MP3 and not a WAV."],
		[padded("\xff\xfb\x90"), "At this address is an MP3 and not a WAV."],
		[padded("OggS"), "At this address is an Ogg and not a WAV."],
		[padded("fLaC"), "At this address is a FLAC and not a WAV."],
		[padded("RIFX"), "At this address is a WAV with its bytes in the other order and not a WAV."],
		[padded("{}"), "At this address is JSON and not a WAV."],
		[padded("RIFF1234AVI LIST"), "At this address is something else and not a WAV."],
		[wav(samples, { rate: 96_000, channels: 2 }), `The sound is 96000 Hz, stereo, 16 bit; ${wanted}`],
		[wav(samples, { channels: 6 }), `The sound is 16000 Hz, 6 channels, 16 bit; ${wanted}`],
		[wav(samples, { bits: 8 }), `The sound is 16000 Hz, mono, 8 bit; ${wanted}`],
		[wav(samples, { format: 0x55 }), `The sound is 16000 Hz, mono, 16 bit, not PCM (format 85); ${wanted}`],
		[wav(samples, { dataBytes: 0 }), "The WAV file has no samples."],
		[wav(samples, { dataBytes: 63 }), "The WAV file ends within a sample."],
	] as const)
		assert.equal(refusal(file), message);
});

/** With a format of 40 bytes (WAVEFORMATEXTENSIBLE), as ffmpeg writes it. */
function extended(file: Buffer): Buffer {
	const format = Buffer.alloc(40);
	file.copy(format, 0, 20, 36);
	format.writeUInt16LE(0xfffe, 0);
	format.writeUInt16LE(22, 16);
	format.writeUInt16LE(1, 24);
	return Buffer.concat([file.subarray(0, 12), chunk("fmt ", format), file.subarray(36)]);
}
