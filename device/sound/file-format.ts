/** Detects file formats by magic numbers, for error messages about files that are not WAV. */

/** Bytes needed to distinguish all formats. */
export const magicBytes = 12;

/** Magic numbers in Latin-1. */
const formats = Object.freeze([
	format("ID3", "an MP3"),
	// Frame sync of streams without a header: MPEG audio (ISO 11172-3) and ADTS.
	format("\xff\xfb", "an MP3"),
	format("\xff\xf3", "an MP3"),
	format("\xff\xf1", "an AAC"),
	format("\xff\xf9", "an AAC"),
	format("ftyp", "an MP4 or M4A", 4),
	format("\x1a\x45\xdf\xa3", "a WebM or Matroska"),
	format("OggS", "an Ogg"),
	format("fLaC", "a FLAC"),
	format("FORM", "an AIFF"),
	format("\x30\x26\xb2\x75", "a WMA or ASF"),
	format("<", "HTML"),
	format("{", "JSON"),
]);

/** @param start of the file, of which at most `magicBytes` are used @returns e.g. "an MP3"; undefined: unknown */
export function nameFormat(start: Uint8Array): string | undefined {
	const text = String.fromCharCode(...start.subarray(0, magicBytes));
	// HTML and JSON may begin with white space.
	const trimmed = text.trimStart();
	const known = formats.find(({ magic, at }) =>
		at === 0 ? trimmed.startsWith(magic) : text.startsWith(magic, at),
	);
	return known?.kind;
}

function format(magic: string, kind: string, at = 0) {
	return Object.freeze({ magic, kind, at });
}
