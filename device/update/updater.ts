/**
 * Updates the device: downloads the image, checks it, writes it to the inactive slot, verifies it, selects it and
 * restarts. Until it is selected, the running firmware boots.
 */

import Timer from "timer";
import type { Host, RunningImage, UpdateSlot } from "../host.js";
import { messageOf } from "../message-of.js";
import type { HttpAccess } from "../network/http-connection.js";
import { parseHttpUrl } from "../network/http-url.js";
import type { Url } from "../network/url.js";
import type { CommandOf, UplinkOf } from "../protocol/messages.js";
import { readAuthority } from "./authority.js";
import { Download } from "./download.js";
import { ImageCheck } from "./image-check.js";
import type { Verification } from "./p256.js";
import { Patch } from "./patch.js";
import { readUpdateSignature, wrongSignature } from "./signature.js";

const blockBytes = 16 * 1024;
/** Smaller, since applying a patch takes memory as well. */
const patchBlockBytes = 2 * 1024;
/** Three messages a second plus the last one: at most four a second. */
const progressIntervalMs = 334;
const restartDelayMs = 500;
/** Duration after which no block is accepted. The largest slot (7 MB) needs 2 KB/s. */
const maxDurationMs = 60 * 60_000;

export type UpdateMessage = UplinkOf<"ota_progress"> | UplinkOf<"ota_complete"> | UplinkOf<"ota_error">;

export interface UpdaterOptions {
	readonly host: Pick<Host, "chip" | "model" | "digest"> & { readonly update: Omit<Host["update"], "boot"> };
	readonly gateway: HttpAccess & { readonly isConnected: boolean };
	/** Security version of the running firmware. */
	readonly securityVersion: number;
	/** Public keys compiled in; see `readReleaseKeys`. */
	readonly releaseKeys: string;
	/** Monotonic milliseconds. */
	readonly now: () => number;
	readonly send: (message: UpdateMessage) => void;
	readonly log: (text: string) => void;
	/** Called at the start and on failure; after success the device restarts. */
	readonly onRunning: (isRunning: boolean) => void;
	readonly restart: () => void;
}

export class Updater {
	readonly #options: UpdaterOptions;
	#isRunning = false;
	#download: Download | undefined;
	/** Set while a patch is applied. */
	#source: RunningImage | undefined;
	/** Starts the download of the whole firmware if the patch fails; undefined without a patch. */
	#fallback: (() => void) | undefined;
	/** Reason of stop(), for a step that cannot be interrupted. */
	#stopReason: string | undefined;
	/** Whether the image is being selected, or is selected: the update can no longer be stopped. */
	#isActivating = false;
	#slot: UpdateSlot | undefined;
	#image: ImageCheck | undefined;
	/** Begins the verification of the signature; undefined: any firmware is accepted. */
	#beginVerification: ((sha256: ArrayBuffer) => Verification) | undefined;
	#written = 0;
	#total = 0;
	#reportedAtMs: number | undefined;
	#startedAtMs = 0;
	#flashMs = 0;

	constructor(options: UpdaterOptions) {
		this.#options = options;
	}

	/** Whether an update runs; after success it stays true until the restart. */
	get isRunning(): boolean {
		return this.#isRunning;
	}

	/** Starts an update; no effect while one runs. */
	start({ url, cert_pem, signature, patch }: Omit<CommandOf<"start_ota">, "command">): void {
		if (this.#isRunning) return;
		const { releaseKeys, now, onRunning } = this.#options;
		this.#isRunning = true;
		onRunning(true);
		this.#startedAtMs = now();
		this.#stopReason = undefined;
		this.#flashMs = 0;
		try {
			this.#beginVerification = readUpdateSignature(releaseKeys, signature);
			const address = parseHttpUrl(url, "firmware");
			const certificate = cert_pem === undefined ? undefined : readAuthority(cert_pem);
			const fetchWhole = () => this.#fetch(address, certificate);
			if (!patch) return fetchWhole();
			this.#fallback = fetchWhole;
			this.#fetch(parseHttpUrl(patch.url, "patch"), certificate, patch);
		} catch (error) {
			this.#fail(messageOf(error));
		}
	}

	/**
	 * Ends the update, if one runs, at once or after the current step of the verification.
	 * @param reason sentence for `ota_error`
	 * @returns false if the image is being selected, or is selected
	 */
	stop(reason: string): boolean {
		if (this.#isActivating) return false;
		this.#stopReason = reason;
		if (!this.#download) return true;
		this.#fallback = undefined;
		this.#fail(reason);
		return true;
	}

	/** @param digests of a patch at `url`; undefined: `url` is the whole firmware */
	#fetch(
		url: Url,
		certificate: string | undefined,
		digests?: { readonly from: string; readonly to: string },
	): void {
		const { host, gateway, securityVersion, now } = this.#options;
		const { chip, model, digest } = host;
		const { sha256 } = digest;
		this.#written = 0;
		this.#total = 0;
		this.#reportedAtMs = undefined;
		this.#image = new ImageCheck({ chip, model, securityVersion }, this.#beginVerification && new sha256({}));
		const patch = digests && this.#createPatch(digests);
		this.#download = new Download({
			http: gateway,
			url,
			certificate,
			sha256,
			buffer: new Uint8Array(digests ? patchBlockBytes : blockBytes),
			now,
			isOnline: () => gateway.isConnected,
			isPaced: patch !== undefined,
			onPiece: (piece, total) => {
				if (patch) return patch.write(piece);
				this.#write(piece, total);
				return true;
			},
			onEnd: (reason) => {
				this.#download = undefined;
				if (reason !== undefined) return this.#fail(reason);
				try {
					patch?.end();
				} catch (error) {
					return this.#fail(messageOf(error));
				}
				this.#verify();
			},
		});
	}

	#createPatch(digests: { readonly from: string; readonly to: string }): Patch {
		const { update, digest } = this.#options.host;
		const source = new update.running({});
		this.#source = source;
		const onPiece = (piece: Uint8Array, total: number) => this.#write(piece, total);
		return new Patch({ source, sha256: digest.sha256, ...digests, onPiece });
	}

	/** Continues a download that waits for the gateway to be connected again. */
	resume(): void {
		this.#download?.resume();
	}

	/** @throws Error whose message is the reason for `ota_error` */
	#write(piece: Uint8Array, total: number): void {
		this.#image?.write(piece, total);
		const startedAtMs = this.#options.now();
		if (startedAtMs - this.#startedAtMs > maxDurationMs)
			throw new Error(`The update did not complete within ${maxDurationMs / 60_000} minutes.`);
		if (this.#written === 0) this.#begin(total);
		try {
			this.#slot?.write(piece);
		} catch (error) {
			throw new Error(`The firmware cannot be written to flash: ${messageOf(error)}`);
		}
		this.#flashMs += this.#options.now() - startedAtMs;
		this.#written += piece.byteLength;
		if (this.#written < total) this.#reportProgress();
	}

	/** Opens the slot, which erases flash; the header must be checked before. */
	#begin(total: number): void {
		const slot = new this.#options.host.update.slot({});
		this.#slot = slot;
		if (total > slot.byteLength)
			throw new Error(`The firmware has ${total} bytes; the slot holds ${slot.byteLength}.`);
		try {
			slot.open();
		} catch (error) {
			throw new Error(`The update slot cannot be opened: ${messageOf(error)}`);
		}
		this.#total = total;
		this.#reportProgress();
	}

	#reportProgress(): void {
		const now = this.#options.now();
		const isLast = this.#written === this.#total;
		if (!isLast && this.#reportedAtMs !== undefined && now - this.#reportedAtMs < progressIntervalMs) return;
		this.#reportedAtMs = now;
		this.#options.send({
			type: "ota_progress",
			percent: Math.floor((this.#written * 100) / this.#total),
			bytes_written: this.#written,
			bytes_total: this.#total,
		});
	}

	/** Checks the signature, if required. Runs each step in its own turn: together they take more than half a second. */
	#verify(): void {
		this.#reportProgress();
		const fetchedAtMs = this.#options.now();
		const sha256 = this.#image?.end();
		const verification = sha256 && this.#beginVerification?.(sha256);
		if (!verification) return this.#activate(fetchedAtMs);
		const next = () => {
			const isSigned = verification.next();
			if (isSigned === undefined) Timer.set(next);
			else if (isSigned) this.#activate(fetchedAtMs);
			else this.#fail(wrongSignature);
		};
		Timer.set(next);
	}

	/** Verifies the image in flash, selects it for the next boot and restarts. */
	#activate(fetchedAtMs: number): void {
		if (this.#stopReason !== undefined) return this.#fail(this.#stopReason);
		this.#isActivating = true;
		const onEnd = (problem: string | undefined) => {
			if (problem !== undefined) return this.#fail(`The device rejected the firmware: ${problem}`);
			this.#logTimes(fetchedAtMs);
			this.#options.send({ type: "ota_complete" });
			Timer.set(() => this.#options.restart(), restartDelayMs);
		};
		try {
			this.#slot?.complete(onEnd);
		} catch (error) {
			onEnd(messageOf(error));
		}
	}

	#logTimes(fetchedAtMs: number): void {
		const now = this.#options.now();
		const parts = [
			`download ${seconds(fetchedAtMs - this.#startedAtMs - this.#flashMs)}`,
			`erasing and writing flash ${seconds(this.#flashMs)}`,
			`verification ${seconds(now - fetchedAtMs)}`,
		];
		this.#options.log(
			`update: ${this.#total} bytes in ${seconds(now - this.#startedAtMs)}: ${parts.join(", ")}\n`,
		);
	}

	#fail(reason: string): void {
		const fallback = this.#fallback;
		this.#isActivating = false;
		this.#release();
		if (fallback) {
			this.#options.log(`update: patch failed, downloading the whole firmware: ${reason}\n`);
			// In a new turn, when the patch's memory is no longer referenced.
			Timer.set(() => {
				if (this.#stopReason === undefined) fallback();
				else this.#fail(this.#stopReason);
			});
			return;
		}
		this.#isRunning = false;
		this.#options.send({ type: "ota_error", reason: reason.slice(0, 500) });
		this.#options.onRunning(false);
	}

	#release(): void {
		this.#download?.close();
		this.#download = undefined;
		this.#fallback = undefined;
		this.#source?.close();
		this.#source = undefined;
		try {
			this.#slot?.close();
		} catch {
			// Harmless: the slot is not selected.
		}
		this.#slot = undefined;
	}
}

function seconds(ms: number): string {
	return `${(ms / 1000).toFixed(1)} s`;
}
