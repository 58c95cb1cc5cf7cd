/**
 * POST /ota/upload: streams a file of a multipart form to disk, validates it and its optional signature, and replaces the
 * previous upload.
 */

import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { signature as signatureForm } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import { watchProgress } from "../http/server.js";
import { RequestError } from "../problem.js";
import { ImageError, ImageParser } from "./image.js";
import { findSignatureProblem, type ReleaseKeys } from "./release-keys.js";
import { describeImage, type Upload, type UploadStore } from "./upload-store.js";

/** Size limit of the form without the file, in bytes. */
const formOverhead = 65_536;
const fieldName = "firmware";
/** Name of the field with the signature, as text or as a .sig file. */
const signatureName = "signature";
/** Size limit of a signature with surrounding white space, in bytes. */
const longestSignature = 256;

export interface UploadOptions {
	readonly store: UploadStore;
	readonly maxBytes: number;
	/** Whether images are validated; otherwise any file is accepted. */
	readonly checkImages: boolean;
	/** Keys, one of which must have signed the firmware. */
	readonly releaseKeys: ReleaseKeys;
}

/**
 * Reads the form and makes its file the current upload.
 * @throws {RequestError} 400, 408, 413, 415 or 422, possibly before the end of the request
 * @throws {NodeJS.ErrnoException} ENOSPC if the disk is full
 */
export async function receiveUpload(request: IncomingMessage, options: UploadOptions): Promise<Upload> {
	const { store, maxBytes, checkImages, releaseKeys } = options;
	const form = openForm(request, maxBytes);
	const draft = await store.begin();
	const parser = new ImageParser();
	let size = 0;
	try {
		const { filename, signature } = await readForm(request, form, maxBytes, async (chunk) => {
			size += chunk.length;
			if (size > maxBytes) throw tooLarge(maxBytes);
			// Parsed during the write, to save time.
			const written = draft.write(chunk);
			parser.write(chunk);
			await written;
		});
		if (size === 0) throw new RequestError(400, "The file is empty.");
		const { sha256, info } = parser.end();
		const isImage = !(info instanceof ImageError);
		if (checkImages && !isImage) throw new RequestError(422, info.message);
		const file = { filename: cleanFilename(filename), size, sha256: sha256.toString("hex") };
		checkSignature(signature, isImage ? info.sha256 : file.sha256, releaseKeys);
		const signed = { ...file, ...(signature !== undefined && { signature }) };
		return await draft.commit({ ...signed, ...(checkImages && isImage && describeImage(info)) });
	} catch (error) {
		await draft.discard();
		throw error;
	}
}

/** @param sha256 signed digest, in hex @throws {RequestError} 422 */
function checkSignature(signature: string | undefined, sha256: string, keys: ReleaseKeys): void {
	if (signature !== undefined && !matches(signatureForm, signature))
		throw new RequestError(
			422,
			"The signature must be 64 bytes in base64, as in the .sig file of a release.",
		);
	const problem = findSignatureProblem(keys, sha256, signature);
	const advice = `Send the signature created by npm run release in the field "${signatureName}".`;
	if (problem !== undefined) throw new RequestError(422, `The image ${problem}. ${advice}`);
}

function openForm({ headers }: IncomingMessage, maxBytes: number): BusboyInstance {
	const type = headers["content-type"] ?? "";
	const advice = `Send the firmware as multipart/form-data, in a file field named "${fieldName}".`;
	if (!/^multipart\/form-data *(;|$)/i.test(type)) throw new RequestError(415, advice);
	if (Number(headers["content-length"]) > maxBytes + formOverhead) throw tooLarge(maxBytes);
	const limits = { fields: 32, fieldSize: 4096, parts: 64, headerPairs: 64, headerSize: 16_384 };
	try {
		return new Busboy({ headers: { "content-type": type }, limits });
	} catch {
		throw new RequestError(400, "The Content-Type has no boundary parameter.");
	}
}

interface Form {
	/** File name sent by the client. */
	readonly filename: string;
	readonly signature: string | undefined;
}

/** @param onChunk called with each chunk of the file, and awaited */
function readForm(
	request: IncomingMessage,
	form: BusboyInstance,
	maxBytes: number,
	onChunk: (chunk: Buffer) => Promise<void>,
): Promise<Form> {
	let signature: string | undefined;
	let file: Readable | undefined;
	let size = 0;
	let stopWatching = () => {};
	const consume = async (stream: AsyncIterable<Buffer>) => {
		for await (const chunk of stream) await onChunk(chunk);
	};
	const read = new Promise<string>((resolve, reject) => {
		const stalled = new RequestError(408, "The upload stalled. Send it again.");
		const rejectForm = (detail: string) => reject(new RequestError(400, detail));
		let received: Promise<string> | undefined;
		// The type definition omits that a file may have no name, if it has a Content-Type.
		form.on("file", (name, stream, filename: string | undefined) => {
			// The form reports it too, but an unhandled "error" event would terminate the process.
			stream.once("error", () => rejectForm("The form data ended within a file."));
			if (name === signatureName) {
				const add = (chunk: Buffer) => {
					signature = `${signature ?? ""}${chunk}`.slice(0, longestSignature);
				};
				return void stream.on("data", add);
			}
			if (name !== fieldName) return void stream.resume();
			if (file) return rejectForm(`The form has more than one field "${fieldName}".`);
			file = stream;
			received = consume(stream).then(() => filename ?? "");
			received.catch(reject);
		});
		form.on("field", (name, value) => {
			if (name === signatureName) signature = String(value);
			if (name === fieldName) rejectForm(`The field "${fieldName}" contains text instead of a file.`);
		});
		form.once("error", () => rejectForm("The form data is malformed or incomplete."));
		form.once("finish", () =>
			received ? resolve(received) : rejectForm(`The form has no file field named "${fieldName}".`),
		);
		const onClose = () => rejectForm("The client closed the connection.");
		if (request.destroyed) onClose();
		request.once("close", () => request.complete || onClose());
		request.on("data", (chunk: Buffer) => {
			size += chunk.length;
			if (size > maxBytes + formOverhead) reject(tooLarge(maxBytes));
		});
		stopWatching = watchProgress(request, () => reject(stalled));
		request.pipe(form);
	});
	const all = read.then((filename) => ({ filename, signature: signature?.trim() || undefined }));
	return all.finally(() => {
		stopWatching();
		request.unpipe(form);
		file?.destroy();
	});
}

/** Removes the path and invisible characters of a file name and limits it to 120 characters. */
export function cleanFilename(name: string): string {
	const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
	const visible = base.normalize("NFC").replace(/[\p{C}\p{Zl}\p{Zp}\ufffd]/gu, "");
	const short = [...visible.trim()].slice(0, 120).join("");
	return /^\.*$/.test(short) ? "firmware.bin" : short;
}

function tooLarge(maxBytes: number): RequestError {
	const detail = `The firmware exceeds the limit of ${maxBytes} bytes (MAX_UPLOAD).`;
	return new RequestError(413, detail);
}
