/** Firmware images and uploads for the benchmarks of binaries. */

import { encodeImage } from "../../hosts/virtual/node/boot/encode-image.js";

const segmentBytes = 4 << 20;

/** Bytes outside the segments: header, descriptors, the segments' headers, checksum, SHA-256. */
const overheadBytes = 1024;

/** Valid image for a DEV-1 of almost `bytes` bytes, and no more. */
export function makeImage(bytes: number): Buffer {
	const content = pseudoRandom(bytes - overheadBytes);
	const segments: Buffer[] = [];
	for (let at = 0; at < content.length; at += segmentBytes)
		segments.push(content.subarray(at, at + segmentBytes));
	return encodeImage({
		chip: "esp32s3",
		model: "DEV-1",
		version: "1.4.0",
		project: "bench",
		idfVersion: "v6.0",
		segments,
	});
}

/** Reproducible, incompressible bytes, which are realistic for the search for the form's boundary. */
function pseudoRandom(length: number): Buffer {
	const bytes = Buffer.alloc(length);
	for (let at = 0, state = 1; at + 4 <= length; at += 4) {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		bytes.writeUInt32LE(state, at);
	}
	return bytes;
}

const boundary = "----the-boundary-of-the-benchmark";

/** Form with the image as sent by a browser, and its Content-Type. */
export function asForm(image: Buffer): { readonly type: string; readonly body: Buffer } {
	const head = `--${boundary}\r\nContent-Disposition: form-data; name="firmware"; filename="f.bin"\r\n\r\n`;
	return {
		type: `multipart/form-data; boundary=${boundary}`,
		body: Buffer.concat([Buffer.from(head), image, Buffer.from(`\r\n--${boundary}--\r\n`)]),
	};
}

/** @throws Error with the server's response, unless it accepted the form */
export async function post(url: string, token: string, form: ReturnType<typeof asForm>): Promise<void> {
	const response = await fetch(url, {
		method: "POST",
		headers: { Authorization: `Bearer ${token}`, "Content-Type": form.type },
		body: form.body,
	});
	const answer = await response.text();
	if (response.status !== 201) throw new Error(`upload: ${response.status} ${answer}`);
}
