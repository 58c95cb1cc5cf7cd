import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { WavHeader } from "../../../device/sound/wav-header.js";
import { assertSameBytes } from "../../support/bytes.js";
import { runs } from "../../support/property-runs.js";
import { chunk, noise, wav } from "../../support/sounds.js";

/** Reads a file in chunks, as a stream does. @returns offset of the samples; undefined: the file ended before */
function read(header: WavHeader, file: Uint8Array, pieces: readonly number[] = [64]): number | undefined {
	let at = 0;
	for (let index = 0; at < file.length && !header.isWhole; index++) {
		const most = Math.max(1, pieces[index % pieces.length] ?? 1);
		const count = Math.min(most, header.neededBytes, file.length - at);
		assert.ok(count > 0, "the reader always consumes bytes");
		header.write(file.subarray(at, at + count));
		at += count;
	}
	return header.isWhole ? at : undefined;
}

const name = fc.constantFrom("LIST", "fact", "cue ", "JUNK", "bext");
const chunks = fc.array(fc.tuple(name, fc.uint8Array({ maxLength: 900 })), { maxLength: 4 });
const pieces = fc.array(fc.integer({ min: 1, max: 70 }), { minLength: 1, maxLength: 5 });

test("reads a header in chunks of any size, with any chunks before the samples", () => {
	fc.assert(
		fc.property(
			chunks,
			fc.integer({ min: 1, max: 500 }),
			fc.boolean(),
			pieces,
			(others, count, isExtensible, cuts) => {
				const samples = noise(count * 2);
				const before = Buffer.concat(others.map(([id, body]) => chunk(id, body)));
				const plain = wav(samples, { before, after: chunk("LIST", Buffer.from("later")) });
				const file = isExtensible ? extended(plain) : plain;
				const header = new WavHeader();
				const start = read(header, file, cuts);
				assert.ok(start !== undefined, "the header has no end");
				assert.equal(header.sampleBytes(file.length - start), samples.length);
				assertSameBytes(file.subarray(start, start + samples.length), samples);
				assert.equal(header.neededBytes, 0);
			},
		),
		{ numRuns: runs(2000) },
	);
});

test("finds samples within 16 KB, needs more bytes, or rejects the bytes with a message", () => {
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
				assert.ok((at ?? 0) <= 16_384, `samples start at byte ${at}`);
			} catch (error) {
				assert.ok(error instanceof Error && /^The [^\n]+\.$/.test(error.message), String(error));
			}
		}),
		{ numRuns: runs(5000) },
	);
});

test("names a format other than WAV of 16 kHz, mono, 16 bit PCM", () => {
	const rejection = (file: Uint8Array) => {
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
		...(
			[
				["<html>", "HTML"],
				["\n\n<!DOCTYPE html>", "HTML"],
				["{}", "JSON"],
				["ID3\x04", "an MP3"],
				["\xff\xfb\x90", "an MP3"],
				["\xff\xf3\x38\xc4", "an MP3"],
				["\xff\xf1\x60\x40", "an AAC"],
				["\xff\xfeh\0i\0", "not a WAV"],
				["OggS", "an Ogg"],
				["fLaC", "a FLAC"],
				["FORM\0\0\x3e\xaeAIFFCOMM", "an AIFF"],
				["\0\0\0\x1cftypM4A ", "an MP4 or M4A"],
				["\x1a\x45\xdf\xa3\x9f\x42\x86\x81", "a WebM or Matroska"],
				["\x30\x26\xb2\x75\x8e\x66\xcf\x11", "a WMA or ASF"],
				["RIFF1234AVI LIST", "not a WAV"],
				["RIFF1234WEBPVP8 ", "not a WAV"],
			] as const
		).map(([start, kind]) => [padded(start), `The file is ${kind}; ${wanted}`] as const),
		[wav(samples, { rate: 96_000, channels: 2 }), `The sound is 96000 Hz, stereo, 16 bit; ${wanted}`],
		[wav(samples, { channels: 6 }), `The sound is 16000 Hz, 6 channels, 16 bit; ${wanted}`],
		[wav(samples, { bits: 8 }), `The sound is 16000 Hz, mono, 8 bit; ${wanted}`],
		[wav(samples, { format: 0x55 }), `The sound is 16000 Hz, mono, 16 bit, not PCM (format 85); ${wanted}`],
	] as const)
		assert.equal(rejection(file), message);
});

test("reads to the end of the file when the data length is 0, too large or no multiple of a sample", () => {
	const start = 44;
	for (const [dataBytes, available, expected] of [
		[64, 64, 64],
		[64, 100, 64],
		[63, 64, 62],
		[0, 64, 64],
		[0, 65, 64],
		[0x7fff_f000, 64, 64],
		[0x7fff_ffff, 63, 62],
		[0x8000_0000, 64, 64],
		[0xffff_ffff, 64, 64],
		[0, 0, 0],
	] as const) {
		const header = new WavHeader();
		assert.equal(read(header, wav(noise(64), { dataBytes })), start);
		assert.equal(header.sampleBytes(available), expected);
	}
});

/** WAV with a format chunk of 40 bytes (WAVEFORMATEXTENSIBLE), as ffmpeg writes it. */
function extended(file: Buffer): Buffer {
	const format = Buffer.alloc(40);
	file.copy(format, 0, 20, 36);
	format.writeUInt16LE(0xfffe, 0);
	format.writeUInt16LE(22, 16);
	format.writeUInt16LE(1, 24);
	return Buffer.concat([file.subarray(0, 12), chunk("fmt ", format), file.subarray(36)]);
}
