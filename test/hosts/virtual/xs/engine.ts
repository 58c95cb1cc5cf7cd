/** Posts how the engine behaves where XS 13.3 and XS 17 differ, or where the firmware relies on both. */

import Channel from "virtual/channel";

const bytesOf = (...bytes: number[]) => new Uint8Array(bytes).buffer;

const rejectsControls = (pattern: string) => !new RegExp(pattern).test("\n");

function messageOf(action: () => unknown): string {
	try {
		return String(action());
	} catch (error) {
		return error instanceof Error ? `${error.name}: ${error.message}` : "not an Error";
	}
}

export default function main() {
	const channel = new Channel("test", {}, () => {});
	channel.post("behavior", {
		isEs2023: "toSorted" in Array.prototype,
		isNulExcluded: rejectsControls("^[^\\x00-\\x1f]+$"),
		isControlExcluded: rejectsControls("^((?!\\x00)[^\\x01-\\x1f])+$"),
		lengthWithNul: String.fromArrayBuffer(bytesOf(0x41, 0, 0x42)).length,
		invalidUtf8: messageOf(() => String.fromArrayBuffer(bytesOf(0x41, 0xff))),
		invalidJson: messageOf(() => JSON.parse("{")),
		emoji: "😀".length,
		subnormal: Math.round(9e-312) === 0,
	});
}
