import type { Digest, Part } from "../host.js";

const blockBytes = 64;

/** HMAC-SHA-256 (RFC 2104) in lower-case hex. @param key ASCII, as is `text` */
export function hmacSha256(sha256: Part<object, Digest>, key: string, text: string): string {
	const digestOf = (...parts: readonly Uint8Array[]) => {
		const digest = new sha256({});
		for (const part of parts) digest.write(part);
		return new Uint8Array(digest.close());
	};
	const block = new Uint8Array(blockBytes);
	block.set(key.length > blockBytes ? digestOf(bytesOf(key)) : bytesOf(key));
	const padded = (pad: number) => block.map((byte) => byte ^ pad);
	const hmac = digestOf(padded(0x5c), digestOf(padded(0x36), bytesOf(text)));
	return Array.from(hmac, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytesOf(ascii: string): Uint8Array {
	return Uint8Array.from(ascii, (character) => character.charCodeAt(0));
}
