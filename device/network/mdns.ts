/** The subset of multicast DNS (RFC 6762) needed for discovery: encodes the question and parses the answers (RFC 6763). */

import { gatewayService } from "../protocol/gateway-proof.js";

export const multicast = Object.freeze({ address: "224.0.0.251", port: 5353 });

/** Record types (RFC 1035). */
const type = Object.freeze({ pointer: 12, text: 16 });

/**
 * Encodes the question. Gateways answer directly to a source port other than 5353 (RFC 6762, 6.7).
 * @param subtype labels in ASCII, separated by dots
 */
export function gatewayQuestion(subtype: string): Uint8Array {
	const name: number[] = [];
	for (const label of `${subtype}._sub.${gatewayService}`.split("."))
		name.push(label.length, ...Array.from(label, (character) => character.charCodeAt(0)));
	return Uint8Array.of(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...name, 0, 0, type.pointer, 0, 1);
}

/**
 * Reads the strings of all TXT records of an answer, such as `path=/device`. Record names are ignored, since the answer
 * is to our question only.
 *
 * @throws RangeError if the answer is truncated
 */
export function readTexts(bytes: Uint8Array): readonly string[] {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const texts: string[] = [];
	let offset = 12;
	for (let left = view.getUint16(4); left > 0; left--) offset = endOfName(view, offset) + 4;
	for (let left = view.getUint16(6) + view.getUint16(8) + view.getUint16(10); left > 0; left--) {
		const fields = endOfName(view, offset);
		let at = fields + 10;
		offset = at + view.getUint16(fields + 8);
		if (offset > bytes.length) throw new RangeError("truncated answer");
		while (view.getUint16(fields) === type.text && at < offset) {
			const end = at + 1 + view.getUint8(at);
			texts.push(String.fromCharCode(...bytes.subarray(at + 1, end)));
			at = end;
		}
	}
	return texts;
}

function endOfName(view: DataView, start: number): number {
	for (let offset = start; ; ) {
		const length = view.getUint8(offset);
		if (length === 0) return offset + 1;
		// Compression pointer (RFC 1035, 4.1.4).
		if (length >= 0xc0) return offset + 2;
		offset += 1 + length;
	}
}
