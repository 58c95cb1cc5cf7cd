/** Firmware of a run: releases and uploads, identified by digest, so that any other bytes are detected. */

import { type Model, models } from "../../device/protocol/schema.js";
import { makeVirtualImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { addRelease } from "../../scripts/release/folder.js";
import { sha256Of } from "../support/bytes.js";
import { makeImage } from "../support/images.js";

export const firstVersion = "1.0.0";
/** Major version of uploads only. */
export const uploadsMajor = "7.";
const imageBytes = 24_000;

export interface Image {
	readonly version: string;
	readonly model: Model;
	readonly bytes: Buffer;
}

export class Images {
	readonly #bySha256 = new Map<string, Image>();
	#uploads = 0;

	/** Version of a device's update, counted from 1. */
	static release(number: number): string {
		return `1.${number}.0`;
	}

	/** Version of a rollout, counted from 1. */
	static rollOut(number: number): string {
		return `2.${number}.0`;
	}

	/** Writes releases for both models, and for virtual devices, which run `program`. */
	async release(releasesDir: string, versions: readonly string[], program: Uint8Array): Promise<void> {
		for (const version of versions) {
			const images = models.flatMap((model) => [
				this.make(version, model).bytes,
				makeVirtualImage(program, model, version),
			]);
			await addRelease(releasesDir, { version, date: "2026-01-02", notes: "", images });
		}
	}

	/** Image with a unique version. */
	upload(model: Model): Image {
		this.#uploads += 1;
		return this.make(`${uploadsMajor}${this.#uploads}.0`, model);
	}

	/** undefined: the bytes are not one of these images. */
	find(bytes: Uint8Array): Image | undefined {
		return this.#bySha256.get(sha256Of(bytes));
	}

	make(version: string, model: Model): Image {
		const segments = [Buffer.alloc(imageBytes, `${model} ${version} `)];
		const bytes = makeImage({ model, version, segments });
		const image = { version, model, bytes };
		this.#bySha256.set(sha256Of(bytes), image);
		return image;
	}
}
