/** Detects file formats by magic numbers, for error messages about files that are not WAV. */

/** Bytes needed to distinguish all formats. */
export const magicBytes = 12;

/** Magic numbers in Latin-1. */
const formats = Object.freeze([
	format("RIFX", "a RIFX, a WAV with its bytes in the other order"),
	format("RF64", "an RF64, a WAV of the 64-bit kind"),
	format("BW64", "a BW64, a WAV of the 64-bit kind"),
	format("riff\x2e\x91\xcf\x11", "a Wave64 (W64)"),
	format("AVI ", "an AVI", 8),
	format("ID3", "an MP3"),
	format("ftyp", "an MP4 or M4A", 4),
	format("\x1a\x45\xdf\xa3", "a WebM or Matroska"),
	format("OggS", "an Ogg"),
	format("fLaC", "a FLAC"),
	format("FORM", "an AIFF"),
	format("caff", "a CAF"),
	format(".snd", "an AU"),
	format("\x30\x26\xb2\x75", "a WMA or ASF"),
	format("#!AMR", "an AMR"),
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
	return known ? known.kind : nameFrame(start[0], start[1]);
}

/** Detects streams without a file header by their frame sync: 11 bits in MPEG audio (ISO 11172-3), 12 in AAC (ADTS). */
function nameFrame(first: number | undefined, second: number | undefined): string | undefined {
	if (first !== 0xff || second === undefined) return undefined;
	if ((second & 0xf6) === 0xf0) return "an AAC";
	switch (second & 0xe6) {
		case 0xe2:
			return "an MP3";
		case 0xe4:
			return "an MP2";
		default:
			return undefined;
	}
}

function format(magic: string, kind: string, at = 0) {
	return Object.freeze({ magic, kind, at });
}
