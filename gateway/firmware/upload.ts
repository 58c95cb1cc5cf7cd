/**
 * POST /ota/upload: streams a file from a multipart form to disk, validates it and its optional signature, and then replaces
 * the previous upload.
 */

import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import { signature as signatureForm } from "../../device/protocol/messages.js";
import { matches } from "../../device/protocol/schema.js";
import { RequestError } from "../problem.js";
import { ImageError, ImageParser } from "./image.js";
import { findSignatureProblem, type ReleaseKeys } from "./release-keys.js";
import type { Upload, UploadStore } from "./upload-store.js";

/** Size limit of the rest of the form, in bytes. */
const formOverhead = 65_536;
const fieldName = "firmware";
/** Text, or the content of a .sig file. */
const signatureName = "signature";
/** Size limit of a signature with surrounding white space, in bytes. */
const longestSignature = 256;

export interface UploadOptions {
	readonly store: UploadStore;
	readonly maxBytes: number;
	/** false: any file is stored. */
	readonly checkImages: boolean;
	/** By one of which the firmware must be signed. */
	readonly releaseKeys: ReleaseKeys;
	/** Each interval must bring 16 KiB, or the form's end. Default 30 s. */
	readonly progressMs?: number;
}

/** 4.4 kbit/s bring this in 30 s. */
const progressBytes = 16 * 1024;

/**
 * Reads the form and makes its file the current upload.
 * @throws {RequestError} 400, 408, 413, 415 or 422, perhaps before the end of the request
 * @throws {NodeJS.ErrnoException} ENOSPC if the disk is full
 */
export async function receiveUpload(request: IncomingMessage, options: UploadOptions): Promise<Upload> {
	const { store, maxBytes, checkImages, releaseKeys, progressMs = 30_000 } = options;
	const form = openForm(request, maxBytes);
	const draft = await store.begin();
	const parser = new ImageParser();
	let size = 0;
	try {
		const { filename, signature } = await readForm(request, form, { maxBytes, progressMs }, async (chunk) => {
			size += chunk.length;
			if (size > maxBytes) throw tooLarge(maxBytes);
			// Checked during the write, to save time.
			const written = draft.write(chunk);
			parser.write(chunk);
			await written;
		});
		if (size === 0) throw new RequestError(400, "The file is empty.");
		const { sha256, info } = parser.end();
		const isImage = !(info instanceof ImageError);
		if (checkImages && !isImage) throw new RequestError(422, info.message);
		const file = { filename: cleanFilename(filename), sha256: sha256.toString("hex") };
		checkSignature(signature, isImage ? info.sha256 : file.sha256, releaseKeys);
		const signed = { ...file, ...(signature !== undefined && { signature }) };
		if (!checkImages || !isImage) return await draft.keep(signed);
		const { version, model, chip, securityVersion } = info;
		const security = securityVersion > 0 && { security_version: securityVersion };
		return await draft.keep({ ...signed, version, model, chip, ...security });
	} catch (error) {
		await draft.discard();
		throw error;
	}
}

/** @param sha256 of what is signed, in hex @throws {RequestError} 422 */
function checkSignature(signature: string | undefined, sha256: string, keys: ReleaseKeys): void {
	if (signature !== undefined && !matches(signatureForm, signature))
		throw new RequestError(422, "The signature is not 64 bytes in base64, as in the .sig file of a release.");
	const problem = findSignatureProblem(keys, sha256, signature);
	const advice = `send the signature of npm run release, in the field "${signatureName}"`;
	if (problem !== undefined) throw new RequestError(422, `The image ${problem}; ${advice}.`);
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
		throw new RequestError(400, "The Content-Type names no boundary for the parts of the form.");
	}
}

interface Form {
	/** Name sent by the client. */
	readonly filename: string;
	readonly signature: string | undefined;
}

/** @param take gets the file's bytes, piece by piece */
function readForm(
	request: IncomingMessage,
	form: BusboyInstance,
	{ maxBytes, progressMs }: { readonly maxBytes: number; readonly progressMs: number },
	take: (chunk: Buffer) => Promise<void>,
): Promise<Form> {
	let signature: string | undefined;
	let file: Readable | undefined;
	let size = 0;
	let timer: NodeJS.Timeout | undefined;
	const takeAll = async (stream: AsyncIterable<Buffer>) => {
		for await (const chunk of stream) await take(chunk);
	};
	const read = new Promise<string>((resolve, reject) => {
		const stalled = new RequestError(408, "The upload has stalled; send it again.");
		const refuse = (detail: string) => reject(new RequestError(400, detail));
		let received: Promise<string> | undefined;
		// The type omits that a part without a name may be a file, by its Content-Type.
		form.on("file", (name, stream, filename: string | undefined) => {
			// Reported by the form too, but an unhandled "error" event ends the process.
			stream.once("error", () => refuse("The form breaks off in the middle of a file."));
			if (name === signatureName) {
				const add = (chunk: Buffer) => {
					signature = `${signature ?? ""}${chunk}`.slice(0, longestSignature);
				};
				return void stream.on("data", add);
			}
			if (name !== fieldName) return void stream.resume();
			if (file) return refuse(`The form has more than one field "${fieldName}".`);
			file = stream;
			received = takeAll(stream).then(() => filename ?? "");
			received.catch(reject);
		});
		form.on("field", (name, value) => {
			if (name === signatureName) signature = String(value);
			if (name === fieldName) refuse(`The field "${fieldName}" holds text; send a file in it.`);
		});
		form.once("error", () => refuse("The form is malformed or breaks off."));
		form.once("finish", () =>
			received ? resolve(received) : refuse(`The form has no file field named "${fieldName}".`),
		);
		const leave = () => refuse("The client closed the connection.");
		if (request.destroyed) leave();
		request.once("close", () => request.complete || leave());
		request.on("data", (chunk: Buffer) => {
			size += chunk.length;
			if (size > maxBytes + formOverhead) reject(tooLarge(maxBytes));
		});
		let sizeBefore = 0;
		timer = setInterval(() => {
			if (size - sizeBefore < progressBytes && !request.complete) reject(stalled);
			sizeBefore = size;
		}, progressMs).unref();
		request.pipe(form);
	});
	const all = read.then((filename) => ({ filename, signature: signature?.trim() || undefined }));
	return all.finally(() => {
		clearInterval(timer);
		request.unpipe(form);
		file?.destroy();
	});
}

/** File name without path and invisible characters, at most 120 characters. */
export function cleanFilename(name: string): string {
	const base = name.slice(Math.max(name.lastIndexOf("/"), name.lastIndexOf("\\")) + 1);
	const visible = base.normalize("NFC").replace(/[\p{C}\p{Zl}\p{Zp}\ufffd]/gu, "");
	const short = [...visible.trim()].slice(0, 120).join("");
	return /^\.*$/.test(short) ? "firmware.bin" : short;
}

function tooLarge(maxBytes: number): RequestError {
	const detail = `The firmware is larger than ${maxBytes} bytes, the most that is taken (MAX_UPLOAD).`;
	return new RequestError(413, detail);
}
