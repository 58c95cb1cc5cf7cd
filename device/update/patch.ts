/**
 * Applies a patch (patch-format.ts) to the running firmware, as a stream and in 8.5 KB of memory. Patches are untrusted:
 * one can neither read outside its source nor produce more than it announces.
 */

import type { PatchDecoder as Decoder, Digest, Part, PatchDecoderPart, RunningImage } from "../host.js";
import { patchHead } from "../protocol/patch-format.js";
import { PatchDecoder } from "./patch-decoder.js";

/** Bytes produced per step: one flash sector. */
const pieceBytes = 4 * 1024;
/** Pieces of the source hashed per turn. */
const piecesPerTurn = 4;

export interface PatchOptions {
	readonly source: Pick<RunningImage, "byteLength" | "read">;
	readonly sha256: Part<object, Digest>;
	/** The host's native decoder, if it has one. */
	readonly decoder?: PatchDecoderPart | undefined;
	/** SHA-256 of source and result, in lower-case hex. */
	readonly from: string;
	readonly to: string;
	/** Receives the next piece of the result: 4 KiB, the last one less. Valid during the call. @param total the result's length */
	readonly onPiece: (piece: Uint8Array, total: number) => void;
}

export class Patch {
	readonly #options: PatchOptions;
	readonly #piece = new Uint8Array(pieceBytes);
	#made = 0;
	#sourceBytes = 0;
	#resultBytes = 0;
	/** Digest of the source, then of the result. */
	#digest: Digest;
	#isHeadRead = false;
	/** Bytes of the source that are hashed. */
	#checked = 0;
	/** Once the source is checked. */
	#decoder: Decoder | undefined;
	/** Bytes of the present input that are used up. */
	#read = 0;

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
		if (!this.#isHeadRead) this.#readHead(bytes);
		else if (this.#decoder) return this.#make(this.#decoder, bytes);
		else for (let piece = 0; piece < piecesPerTurn && !this.#decoder; piece++) this.#checkSource();
		return false;
	}

	/** Verifies the result. Must be called after the last bytes. @throws Error if it is incomplete or damaged */
	end(): void {
		if (!this.#decoder || this.#made < this.#resultBytes) throw new Error("The patch is cut off.");
		if (toHex(new Uint8Array(this.#digest.close())) !== this.#options.to)
			throw new Error("The patch is damaged: the firmware made by it has another SHA-256.");
	}

	#readHead(bytes: Uint8Array): void {
		const { byteLength, magic, ...offsets } = patchHead;
		if (bytes.byteLength < byteLength) throw new Error("The patch is cut off in its head.");
		const view = new DataView(bytes.buffer, bytes.byteOffset, byteLength);
		if (view.getUint32(0, true) !== magic) throw new Error("What the server sends is no patch.");
		this.#sourceBytes = view.getUint32(offsets.sourceBytesOffset, true);
		this.#resultBytes = view.getUint32(offsets.resultBytesOffset, true);
		const { from, to, source } = this.#options;
		if (
			toHex(bytes.subarray(offsets.sourceSha256Offset, offsets.resultSha256Offset)) !== from ||
			toHex(bytes.subarray(offsets.resultSha256Offset, byteLength)) !== to
		)
			throw new Error("The patch is for other firmware than was announced.");
		if (this.#sourceBytes > source.byteLength || this.#resultBytes === 0)
			throw new Error("The patch has impossible lengths in its head.");
		this.#isHeadRead = true;
		this.#read = byteLength;
	}

	/** Hashes the next piece of the source; at its end, verifies the digest. */
	#checkSource(): void {
		const { source, sha256, from, decoder = PatchDecoder } = this.#options;
		const count = Math.min(pieceBytes, this.#sourceBytes - this.#checked);
		if (count > 0) {
			const piece = this.#piece.subarray(0, count);
			source.read(piece, this.#checked);
			this.#digest.write(piece);
			this.#checked += count;
			return;
		}
		if (toHex(new Uint8Array(this.#digest.close())) !== from)
			throw new Error("The patch is for other firmware than the one that runs.");
		this.#digest = new sha256({});
		this.#decoder = new decoder({ source, sourceBytes: this.#sourceBytes, resultBytes: this.#resultBytes });
	}

	/** @returns whether the input is used up */
	#make(decoder: Decoder, input: Uint8Array): boolean {
		const wanted = Math.min(pieceBytes, this.#resultBytes - this.#made);
		const piece = this.#piece.subarray(0, wanted);
		this.#read = decoder.decode(piece, input, this.#read);
		if (this.#read < 0 || wanted === 0) {
			this.#read = 0;
			return true;
		}
		this.#digest.write(piece);
		this.#made += wanted;
		this.#options.onPiece(piece, this.#resultBytes);
		return false;
	}
}

function toHex(bytes: Uint8Array): string {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
