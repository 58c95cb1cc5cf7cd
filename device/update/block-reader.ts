/**
 * Receives a firmware's blocks into one buffer and verifies them. While a verified block is delivered from the front of
 * the buffer, the next one is received into the space this frees.
 */

import type { Digest, Part } from "../host.js";
import type { Connection } from "../network/http-connection.js";
import { evaluateResponse, type RemoteFile, type ResponseProblem } from "../network/http-response.js";
import { isBase64Of } from "./base64.js";

/** Bytes delivered per turn: one flash sector, whose erase and write block the device for tens of milliseconds. */
const pieceBytes = 4 * 1024;

export class BlockReader {
	readonly #buffer: Uint8Array;
	readonly #sha256: Part<object, Digest>;
	#file: RemoteFile | undefined;
	/** Start of the block being received or requested next. */
	#offset = 0;
	/** Bytes before the block that a server without ranges still has to repeat. */
	#repeated = 0;
	/** Bytes of the block in the buffer. */
	#filled = 0;
	#digest: Digest | undefined;
	/** Digest of the block sent by the server. */
	#expectedSha256: string | undefined;
	/** Length of the verified block in the buffer; 0 once it is delivered. */
	#verified = 0;
	/** Bytes of the verified block already delivered. */
	#delivered = 0;

	/** @param buffer of the length of a block */
	constructor(buffer: Uint8Array, sha256: Part<object, Digest>) {
		this.#buffer = buffer;
		this.#sha256 = sha256;
	}

	/** Start of the block being received or requested next. */
	get offset(): number {
		return this.#offset;
	}

	/** Whether the server supports range requests. */
	get isInParts(): boolean {
		return this.#file?.isInParts ?? true;
	}

	/** Whether the last block was verified. */
	get isDone(): boolean {
		return this.#offset > 0 && this.#offset === this.#total;
	}

	/** Whether a verified block is not completely delivered. */
	get isDelivering(): boolean {
		return this.#verified > 0;
	}

	/** Whether the whole block has arrived. */
	get isFull(): boolean {
		return this.#filled === this.#length;
	}

	/** Position for an error message. */
	get position(): string {
		return `byte ${this.#offset}${this.#file ? ` of ${this.#file.total}` : ""}`;
	}

	/** Requests the next block. */
	request(connection: Connection): void {
		this.#filled = 0;
		this.close();
		const range = `bytes=${this.#offset}-${this.#offset + this.#buffer.byteLength - 1}`;
		connection.get(this.isInParts ? range : undefined, this.#file?.etag);
	}

	/** @returns why the response is unusable; undefined: it is usable */
	begin(status: number, headers: ReadonlyMap<string, string>): ResponseProblem | undefined {
		const verdict = evaluateResponse(status, headers, {
			what: "firmware",
			offset: this.#offset,
			byteLength: this.#buffer.byteLength,
			file: this.#file,
		});
		if (verdict.kind !== "bytes") return verdict;
		this.#file = verdict.file;
		this.#repeated = verdict.file.isInParts ? 0 : this.#offset;
		this.#expectedSha256 = verdict.sha256;
		this.#digest = verdict.sha256 === undefined ? undefined : new this.#sha256({});
		return undefined;
	}

	/** @returns a view for at most `byteCount` bytes; empty: no room; undefined: more than announced */
	reserve(byteCount: number): Uint8Array | undefined {
		const start = this.#repeated > 0 ? 0 : this.#filled;
		const expected = this.#repeated > 0 ? this.#repeated : this.#length - start;
		if (expected === 0) return undefined;
		const end = this.#verified === 0 ? this.#buffer.byteLength : this.#delivered;
		return this.#buffer.subarray(start, Math.min(end, start + Math.min(byteCount, expected)));
	}

	/** @param bytes read into the view that reserve() returned */
	add(bytes: Uint8Array): void {
		this.#digest?.write(bytes);
		if (this.#repeated > 0) this.#repeated -= bytes.byteLength;
		else this.#filled += bytes.byteLength;
	}

	/** Verifies the full block and makes it available to deliver(). @returns false if it is damaged */
	verify(): boolean {
		const sha256 = this.#digest?.close();
		this.#digest = undefined;
		if (sha256 && !isBase64Of(this.#expectedSha256 ?? "", new Uint8Array(sha256))) return false;
		this.#verified = this.#filled;
		this.#delivered = 0;
		this.#offset += this.#filled;
		this.#filled = 0;
		return true;
	}

	/** Delivers the next piece of the verified block. @throws the error of `onPiece` */
	deliver(onPiece: (piece: Uint8Array, total: number) => boolean): void {
		const end = Math.min(this.#verified, this.#delivered + pieceBytes);
		if (!onPiece(this.#buffer.subarray(this.#delivered, end), this.#total)) return;
		this.#delivered = end;
		if (end === this.#verified) this.#verified = 0;
	}

	/** Frees the digest of an incomplete block. */
	close(): void {
		this.#digest?.close();
		this.#digest = undefined;
	}

	get #total(): number {
		return this.#file?.total ?? 0;
	}

	get #length(): number {
		return Math.min(this.#buffer.byteLength, this.#total - this.#offset);
	}
}
