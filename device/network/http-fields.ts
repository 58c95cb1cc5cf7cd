/** Content-Range (RFC 9110, 14.4). Both offsets are inclusive. */
export interface ContentRange {
	readonly first: number;
	readonly last: number;
	readonly total: number;
}

/** Undefined if missing, malformed or without a total. */
export function readContentRange(field: string | undefined): ContentRange | undefined {
	const match = /^bytes (\d{1,10})-(\d{1,10})\/(\d{1,10})$/i.exec(field ?? "");
	if (!match) return undefined;
	const range = { first: Number(match[1]), last: Number(match[2]), total: Number(match[3]) };
	return range.first <= range.last && range.last < range.total ? range : undefined;
}

export function readContentLength(field: string | undefined): number | undefined {
	return field !== undefined && /^\d{1,10}$/.test(field) ? Number(field) : undefined;
}

/** The SHA-256 of a Content-Digest (RFC 9530, 2) in base64; undefined if there is none, "" if malformed. */
export function readSha256(field: string | undefined): string | undefined {
	const key = "sha-256=:";
	const start = field?.toLowerCase().indexOf(key) ?? -1;
	if (field === undefined || start < 0) return undefined;
	const end = field.indexOf(":", start + key.length);
	return end < 0 ? "" : field.slice(start + key.length, end);
}

const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Compares without building a string. */
export function isBase64Of(text: string, bytes: Uint8Array): boolean {
	const { byteLength } = bytes;
	if (text.length !== Math.ceil(byteLength / 3) * 4) return false;
	for (let index = 0; index < text.length; index++) {
		// The six bits of a character are in one byte or in two.
		const bit = index * 6;
		const at = bit >> 3;
		const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
		const expected = at >= byteLength ? "=" : base64.charAt((pair >> (10 - (bit & 7))) & 63);
		if (text.charAt(index) !== expected) return false;
	}
	return true;
}
