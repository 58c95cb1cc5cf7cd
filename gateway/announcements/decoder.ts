/** Converts sounds of any format for devices with the program of DECODE_COMMAND, from an input file to WAV output. */

import type { Core } from "../extension.js";
import { RequestError } from "../problem.js";
import { fetchSound, isPublic } from "./fetch-sound.js";
import { decodeCommand } from "./settings.js";
import { SoundProgram } from "./sound-program.js";

export const decodeLimits = Object.freeze({
	/** Time limit of the program per file. */
	decodeProgramMs: 30_000,
	/** Time limit for the complete response of another server. */
	decodeFetchMs: 20_000,
});
const longestBytes = 8 << 20;
/** URLs of encoded formats. Devices fetch only WAV files themselves. */
const encoded = /\.(mp3|m4a|mp4|aac|ogg|oga|opus|flac|webm|wma|aif|aiff)$/i;

/** Whether a URL names a format that devices cannot play. */
export function isEncoded(url: string): boolean {
	return encoded.test(new URL(url).pathname);
}

export class Decoder {
	readonly #program: SoundProgram | undefined;
	readonly #fetchMs: number;

	constructor(core: Pick<Core, "environment" | "limits" | "log" | "yieldToLoop">) {
		const command = decodeCommand.read(core.environment);
		const { decodeProgramMs, decodeFetchMs } = { ...decodeLimits, ...core.limits };
		this.#fetchMs = decodeFetchMs;
		this.#program =
			command &&
			new SoundProgram(core, {
				command,
				limitMs: decodeProgramMs,
				// Up to 8 MB each.
				waitingAtMost: 4,
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

	/**
	 * @returns like `SoundProgram.run`
	 * @throws {RequestError} 413, 422, 501, 503, and like `content`
	 */
	async decode(content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<readonly Uint8Array[]> {
		const program = this.require();
		const chunks: Uint8Array[] = [];
		let size = 0;
		for await (const chunk of content) {
			size += chunk.length;
			if (size > longestBytes)
				throw new RequestError(413, `The file is larger than ${longestBytes >> 20} MB. Shorten it.`);
			chunks.push(chunk);
		}
		return program.run(Buffer.concat(chunks), signal);
	}

	/**
	 * Fetches and decodes a sound.
	 * @param isPrivateAllowed whether addresses in private networks are allowed
	 * @throws {RequestError} 502 if the server does not respond with a file, and like `decode`
	 */
	async decodeFrom(
		url: string,
		isPrivateAllowed: boolean,
		signal: AbortSignal,
	): Promise<readonly Uint8Array[]> {
		const { host } = new URL(url);
		try {
			const inTime = AbortSignal.any([signal, AbortSignal.timeout(this.#fetchMs)]);
			const isAllowed = isPrivateAllowed ? () => true : isPublic;
			return await this.decode(await fetchSound(url, { signal: inTime, isAllowed }), signal);
		} catch (error) {
			signal.throwIfAborted();
			if (error instanceof RequestError) throw error;
			// The same for all causes, as it would otherwise reveal private hosts.
			const advice = isPrivateAllowed ? "" : " Private addresses require the role monitor.";
			throw new RequestError(502, `Fetching the sound from ${host} failed. Check its URL.${advice}`);
		}
	}
}
