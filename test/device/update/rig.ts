/**
 * Update of a device in Node: the firmware's code over the virtual host's flash, boot loader and HTTP client, without
 * XS and without a process, so that thousands of updates can be interrupted, damaged and inspected.
 */

import { createHash } from "node:crypto";
import type { RunningImage, UpdateSlot } from "../../../device/host.js";
import type { CommandOf } from "../../../device/protocol/messages.js";
import type { Model } from "../../../device/protocol/schema.js";
import { type UpdateMessage, Updater } from "../../../device/update/updater.js";
import { type Boot, boot } from "../../../hosts/virtual/node/boot/boot-loader.js";
import { flashFactoryImage, makeVirtualImage } from "../../../hosts/virtual/node/boot/factory-flash.js";
import { Flash, PowerCut } from "../../../hosts/virtual/node/boot/flash.js";
import { Ota } from "../../../hosts/virtual/node/boot/ota.js";
import { flashBytes, slots } from "../../../hosts/virtual/node/boot/partitions.js";
import { NodeSha256 } from "../../support/bytes.js";
import { noise } from "../../support/sounds.js";
import { MemoryServer, type ServerOptions } from "./server.js";
import Timer, { clock } from "./timer.js";

/** Image with a program of `byteLength` bytes that depend on the version. */
export function makeFirmware(version: string, byteLength: number, model: Model = "DEV-1"): Buffer {
	const seed = createHash("sha256").update(version).digest().readUInt32LE();
	return makeVirtualImage(noise(byteLength, seed), model, version);
}

export interface RigOptions {
	/** Factory image. */
	readonly firmware: Buffer;
	readonly url?: string;
	/** Existing flash; default: a new one with `image`. */
	readonly flash?: Flash;
	readonly onMessage?: (message: UpdateMessage) => void;
	/** Durations of successive lookups of the server's name in ms; further lookups take no time. */
	readonly lookUpMs?: number[];
	/** Compiled-in release keys. */
	readonly releaseKeys?: string;
	/** Signature in start_ota. */
	readonly signature?: string | undefined;
	/** Patch in start_ota. */
	readonly patch?: CommandOf<"start_ota">["patch"];
	/** Security version of the running firmware. */
	readonly securityVersion?: number;
}

export class Rig {
	readonly flash: Flash;
	readonly messages: UpdateMessage[] = [];
	readonly log: string[] = [];
	restarts = 0;
	/** Whether the device is connected to the gateway. */
	isOnline = true;
	boot: Boot;
	ota: Ota;
	updater: Updater | undefined;
	/** Called before the slot's functions of these names; an exception fails them. */
	before: SlotHooks = {};
	/** Called before the running image is read. */
	beforeRead = () => {};
	hasRunningImage = true;
	readonly #options: RigOptions;

	constructor(options: RigOptions) {
		this.#options = options;
		this.flash = options.flash ?? new Flash({ byteLength: flashBytes });
		flashFactoryImage(this.flash, options.firmware);
		this.boot = boot(this.flash);
		this.ota = new Ota({ flash: this.flash, running: this.boot.slot });
	}

	/** Restarts into the image that the boot loader selects. @throws Error if none starts */
	restart(): void {
		clock.clear();
		this.boot = boot(this.flash);
		this.ota = new Ota({ flash: this.flash, running: this.boot.slot });
		this.updater = undefined;
	}

	/** Begins an update from that server without advancing the clock. */
	begin(server: MemoryServer): Updater {
		const { onMessage, lookUpMs, releaseKeys = "", signature, patch, securityVersion = 0 } = this.#options;
		const { flash, ota, before } = this;
		const rig = this;
		this.updater = new Updater({
			host: {
				chip: "virtual",
				model: "DEV-1",
				digest: { sha256: NodeSha256 },
				update: {
					slot: class extends FlashSlot {
						constructor() {
							super(ota, before);
						}
					},
					running: class implements RunningImage {
						readonly byteLength = rig.hasRunningImage ? slots[ota.running].byteLength : 0;

						read(buffer: Uint8Array, offset: number): void {
							rig.beforeRead();
							buffer.set(flash.read(slots[ota.running].offset + offset, buffer.byteLength));
						}

						close(): void {}
					},
				},
			},
			gateway: {
				...server.access(lookUpMs),
				get isConnected() {
					return rig.isOnline;
				},
			},
			securityVersion,
			releaseKeys,
			now: () => clock.now,
			send: (message) => {
				this.messages.push(message);
				onMessage?.(message);
			},
			log: (text) => void this.log.push(text),
			onRunning: () => {},
			restart: () => {
				this.restarts += 1;
			},
		});
		const { url = "http://gateway.lan:8080/releases/firmware-v2.0.0.bin" } = this.#options;
		this.updater.start({ url, ...(signature !== undefined && { signature }), ...(patch && { patch }) });
		return this.updater;
	}

	/** Runs an update to its restart or error. @returns the reason of a failure */
	update(server: MemoryServer): string | undefined {
		const { restarts } = this;
		const start = this.messages.length;
		this.begin(server);
		const error = () => this.messages.slice(start).find((message) => message.type === "ota_error");
		clock.runUntil(() => this.restarts > restarts || error() !== undefined, 600_000);
		const failure = error();
		return failure?.type === "ota_error" ? failure.reason : undefined;
	}
}

/** Time to verify a full slot on a board. */
export const verificationMs = 4_000;

interface SlotHooks {
	open?(): void;
	write?(bytes: Uint8Array): void;
	/** @returns bytes that flash stores instead */
	store?(bytes: Uint8Array): Uint8Array;
	/** Verification and selection begin. */
	complete?(): void;
	select?(): void;
	close?(): void;
}

/** Inactive slot as the virtual host provides it. */
class FlashSlot implements UpdateSlot {
	readonly #ota: Ota;
	readonly #before: SlotHooks;

	constructor(ota: Ota, before: SlotHooks) {
		this.#ota = ota;
		this.#before = before;
	}

	get byteLength(): number {
		return slots[this.#ota.next].byteLength;
	}

	open(): void {
		this.#before.open?.();
		this.#ota.begin();
	}

	write(bytes: Uint8Array): void {
		this.#before.write?.(bytes);
		this.#ota.write(this.#before.store?.(bytes) ?? bytes);
	}

	complete(onEnd: (problem: string | undefined) => void): void {
		this.#before.complete?.();
		this.#ota.end();
		Timer.set(() => onEnd(this.#findProblem()), verificationMs);
	}

	#findProblem(): string | undefined {
		try {
			this.#before.select?.();
			this.#ota.selectNext();
			return undefined;
		} catch (error) {
			if (error instanceof PowerCut || !(error instanceof Error)) throw error;
			return error.message;
		}
	}

	close(): void {
		this.#before.close?.();
		this.#ota.end();
	}
}

/** Updates a new device from a server. @param prepare called before the update begins */
export function runUpdate(server: ServerOptions, options: RigOptions, prepare = (_rig: Rig) => {}) {
	clock.clear();
	const rig = new Rig(options);
	prepare(rig);
	const from = new MemoryServer(server);
	return { rig, server: from, reason: rig.update(from) };
}
