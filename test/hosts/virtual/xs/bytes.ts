/** Reports what the C functions read from and write to buffers; collections in between move the buffers. */

import Channel, { copyInto, textOf } from "virtual/channel";

export default function main() {
	const channel = new Channel("bytes", {}, () => {});
	const all = new Uint8Array(300);
	for (let index = 0; index < all.byteLength; index++) all[index] = index;
	for (let round = 0; round < 50; round++) textOf(all.subarray(0, 256));
	const text = textOf(all.subarray(44, 300));
	const codes: number[] = [];
	for (let index = 0; index < text.length; index++) codes.push(text.charCodeAt(index));
	channel.post("codes", codes);
	channel.post("empty", textOf(all.subarray(7, 7)));

	const target = new Uint8Array(8);
	copyInto(target.subarray(2), 1, all.subarray(250, 253));
	copyInto(target, 8, all.subarray(0, 0));
	channel.post("copied", undefined, target);
	for (const [offset, length] of [
		[7, 2],
		[9, 0],
		[-1, 1],
	]) {
		try {
			copyInto(target, offset ?? 0, all.subarray(0, length));
			channel.post("refused", "nothing");
		} catch (error) {
			channel.post("refused", error instanceof RangeError);
		}
	}
	channel.post("untouched", undefined, target);
}
