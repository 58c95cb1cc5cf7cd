/**
 * Applies a patch (patch-format.ts) to the running firmware, as a stream and in 8.5 KB of memory. Patches are untrusted:
 * one can neither read outside its source nor produce more than it announces.
 */

import type { Digest, Part, RunningImage } from "../host.js";
import { patchHead } from "../protocol/patch-format.js";
import { PatchDecoder } from "./patch-decoder.js";

/** Bytes produced per step: one flash sector. */
const pieceBytes = 4 * 1024;

export interface PatchOptions {
	readonly source: Pick<RunningImage, "byteLength" | "read">;
	readonly sha256: Part<object, Digest>;
	/** SHA-256 of source and result, in lower-case hex. */
	readonly from: string;
	readonly to: string;
	/** Receives the next piece of the result: 4 KiB, the last one less. Valid during the call. @param total the result's length */
	readonly onPiece: (piece: Uint8Array, total: number) => void;
}

export class Patch {
	readonly #options: PatchOptions;
	readonly #piece = new Uint8Array(pieceBytes);
	#producedBytes = 0;
	#resultBytes = 0;
	/** Digest of the result, which also proves that the source was the right one. */
	readonly #digest: Digest;
	/** Created once the header is read. */
	#decoder: PatchDecoder | undefined;
	/** Consumed bytes of the current input. */
	#inputOffset = 0;

	constructor(options: PatchOptions) {
		this.#options = options;
		this.#digest = new options.sha256({});
	}

	/**
	 * Produces at most one piece.
	 * @param bytes of the patch, in order; the first ones include the whole header
	 * @returns whether the bytes are consumed; if not, the next call must pass them again
	 * @throws Error that explains why the patch cannot be applied
	 */
	write(bytes: Uint8Array): boolean {
		return this.#decode(this.#decoder ?? this.#readHead(bytes), bytes);
	}

	/** Verifies the result. Must be called after the last bytes. @throws Error if it is incomplete or damaged */
	end(): void {
		if (!this.#decoder || this.#producedBytes < this.#resultBytes) throw new Error("The patch is truncated.");
		if (toHex(new Uint8Array(this.#digest.close())) !== this.#options.to)
			throw new Error("The patch is damaged: the SHA-256 of its result does not match.");
	}

	#readHead(bytes: Uint8Array): PatchDecoder {
		const { byteLength, magic, ...offsets } = patchHead;
		if (bytes.byteLength < byteLength) throw new Error("The patch is truncated in its header.");
		const view = new DataView(bytes.buffer, bytes.byteOffset, byteLength);
		if (view.getUint32(0, true) !== magic) throw new Error("The file is not a patch.");
		const sourceBytes = view.getUint32(offsets.sourceBytesOffset, true);
		this.#resultBytes = view.getUint32(offsets.resultBytesOffset, true);
		const { from, to, source } = this.#options;
		if (
			toHex(bytes.subarray(offsets.sourceSha256Offset, offsets.resultSha256Offset)) !== from ||
			toHex(bytes.subarray(offsets.resultSha256Offset, byteLength)) !== to
		)
			throw new Error("The patch does not match the announced SHA-256 values.");
		if (sourceBytes > source.byteLength || this.#resultBytes === 0)
			throw new Error("The patch has invalid lengths in its header.");
		this.#inputOffset = byteLength;
		this.#decoder = new PatchDecoder({ source, sourceBytes, resultBytes: this.#resultBytes });
		return this.#decoder;
	}

	/** @returns whether the input is consumed */
	#decode(decoder: PatchDecoder, input: Uint8Array): boolean {
		const wanted = Math.min(pieceBytes, this.#resultBytes - this.#producedBytes);
		const piece = this.#piece.subarray(0, wanted);
		this.#inputOffset = decoder.decode(piece, input, this.#inputOffset);
		if (this.#inputOffset < 0 || wanted === 0) {
			this.#inputOffset = 0;
			return true;
		}
		this.#digest.write(piece);
		this.#producedBytes += wanted;
		this.#options.onPiece(piece, this.#resultBytes);
		return false;
	}
}

function toHex(bytes: Uint8Array): string {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
