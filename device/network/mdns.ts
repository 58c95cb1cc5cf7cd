/** What a device needs of multicast DNS (RFC 6762): a question for gateways, and what an answer to it says (RFC 6763). */

import { gatewayService } from "../protocol/gateway-proof.js";

export const multicast = Object.freeze({ address: "224.0.0.251", port: 5353 });

/** Types of records (RFC 1035). */
const type = Object.freeze({ pointer: 12, text: 16 });

/**
 * Sent from another port than 5353, it is answered directly to that port (RFC 6762, 6.7).
 * @param subtype its labels, in ASCII, with dots between
 */
export function gatewayQuestion(subtype: string): Uint8Array {
	const name: number[] = [];
	for (const label of `${subtype}._sub.${gatewayService}`.split("."))
		name.push(label.length, ...Array.from(label, (character) => character.charCodeAt(0)));
	return Uint8Array.of(0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...name, 0, 0, type.pointer, 0, 1);
}

/**
 * Reads the texts of an answer's TXT records, such as `path=/device`, whatever the names of the records are, since it is to our question
 * alone.
 *
 * @throws RangeError if it is cut short
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
		if (offset > bytes.length) throw new RangeError("it is cut short");
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
		// The rest is elsewhere (RFC 1035, 4.1.4).
		if (length >= 0xc0) return offset + 2;
		offset += 1 + length;
	}
}
