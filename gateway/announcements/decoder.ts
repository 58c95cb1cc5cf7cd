/** Converts sounds of any format for devices with the program of DECODE_COMMAND, from an input file to WAV output. */

import { WavHeader } from "../../device/sound/wav-header.js";
import type { Core } from "../extension.js";
import { RequestError } from "../problem.js";
import { fetchSound, isPublic } from "./fetch-sound.js";
import { decodeCommand } from "./settings.js";
import { SoundProgram } from "./sound-program.js";
import { writeHeader } from "./wav.js";

/** Time limit of the program per file. */
const programMs = 30_000;
/** Time limit for the complete response of another server. */
const fetchMs = 20_000;
const longestBytes = 8 << 20;
/** URLs that certainly name another format than WAV. */
const encoded = /\.(mp3|m4a|mp4|aac|ogg|oga|opus|flac|webm|wma|aif|aiff)$/i;

/** Whether a URL names a format that no device can play. */
export function isEncoded(url: string): boolean {
	return encoded.test(new URL(url).pathname);
}

export class Decoder {
	readonly #program: SoundProgram | undefined;

	constructor(core: Pick<Core, "environment" | "log" | "yieldToLoop">) {
		const command = decodeCommand.read(core.environment);
		this.#program =
			command &&
			new SoundProgram(core, {
				command,
				limitMs: programMs,
				// Up to 8 MB each.
				maxWaiting: 4,
				waiting: "files are queued for decoding",
				status: 422,
				failure: "DECODE_COMMAND failed to decode this file.",
			});
	}

	/** @throws {RequestError} 501 without DECODE_COMMAND */
	require(): SoundProgram {
		if (this.#program) return this.#program;
		throw new RequestError(
			501,
			"Formats other than WAV require DECODE_COMMAND. Set it to a program such as ffmpeg (gateway/announcements/README.md) and restart the gateway.",
		);
	}

	/** Whether DECODE_COMMAND is set. */
	get isAvailable(): boolean {
		return this.#program !== undefined;
	}

	/**
	 * Decodes a file unless devices can play it. Its content decides, whatever its type is called.
	 * @returns like `SoundProgram.run`, or the file
	 * @throws {RequestError} 413, 422, 501, 503, and like `content`
	 */
	async decode(content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<readonly Uint8Array[]> {
		const { file, isPlayable } = await readSound(content, false);
		const isWav = file.toString("latin1", 0, 4) === "RIFF";
		// The check of WAV files, which follows, names the format in its error; without a decoder, that helps more than "501".
		return isPlayable || (isWav && !this.isAvailable) ? [file] : this.require().run(file, signal);
	}

	/**
	 * Fetches a sound, and decodes it unless devices can load it themselves.
	 * @param isPrivateAllowed whether addresses in private networks are allowed
	 * @returns like `SoundProgram.run`; undefined: devices can load it, or may reach a server that this gateway does not
	 * @throws {RequestError} 502 if the server does not respond with a file, and like `decode`
	 */
	async decodeFrom(
		url: string,
		isPrivateAllowed: boolean,
		signal: AbortSignal,
	): Promise<readonly Uint8Array[] | undefined> {
		const { host } = new URL(url);
		try {
			const inTime = AbortSignal.any([signal, AbortSignal.timeout(fetchMs)]);
			const isAllowed = isPrivateAllowed ? () => true : isPublic;
			const response = await fetchSound(url, { signal: inTime, isAllowed });
			const { file, isPlayable } = await readSound(response, true);
			return isPlayable ? undefined : await this.require().run(file, signal);
		} catch (error) {
			signal.throwIfAborted();
			if (error instanceof RequestError && error.rejection.status !== 502) throw error;
			if (!isEncoded(url)) return undefined;
			if (error instanceof RequestError) throw error;
			// The same for all causes, as it would otherwise reveal private hosts.
			const advice = isPrivateAllowed ? "" : " Private addresses require the role monitor.";
			throw new RequestError(502, `Fetching the sound from ${host} failed. Check its URL.${advice}`);
		}
	}
}

/**
 * Reads a file.
 * @param isHeaderEnough whether to end after the header of a file that devices can play
 * @throws {RequestError} 413
 */
async function readSound(content: AsyncIterable<Uint8Array>, isHeaderEnough: boolean) {
	const header = new WavHeader();
	const chunks: Uint8Array[] = [];
	let size = 0;
	let isPlayable = true;
	for await (const chunk of content) {
		size += chunk.length;
		if (size > longestBytes)
			throw new RequestError(413, `The file is larger than ${longestBytes >> 20} MB. Shorten it.`);
		chunks.push(chunk);
		try {
			if (isPlayable) writeHeader(header, chunk);
		} catch {
			isPlayable = false;
		}
		if (isHeaderEnough && isPlayable && header.isWhole) break;
	}
	return { file: Buffer.concat(chunks), isPlayable: isPlayable && header.isWhole };
}
