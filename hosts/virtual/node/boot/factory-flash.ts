/**
 * Factory flash of a virtual device, like `npm run flash` for a board: writes an image to slot 0 and settings to NVS. Writes only changes, so
 * that updates and stored values survive a restart of the process.
 */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Model } from "../../../../device/protocol/schema.js";
import { partitionTableOffset } from "../../../esp32/partition-table.js";
import { encodeImage } from "./encode-image.js";
import type { Flash } from "./flash.js";
import { loadSettings, readSettings } from "./nvs-store.js";
import { makePartitionTable, partitions } from "./partitions.js";

/** Data that a build adds to the image. */
export interface BuiltIn {
	/** Public keys in the format of `readReleaseKeys` (device/update/signature.ts). Default: none. */
	readonly releaseKeys?: string | undefined;
	/** Default: that of this checkout. */
	readonly securityVersion?: number | undefined;
}

/**
 * Builds an image deterministically.
 *
 * @param buildTime seconds since 1970; 0 if unknown
 */
export function makeVirtualImage(
	program: Uint8Array,
	model: Model,
	version: string,
	buildTime = 0,
	{ releaseKeys = "", securityVersion = checkoutSecurityVersion }: BuiltIn = {},
): Buffer {
	return encodeImage({
		chip: "virtual",
		model,
		version,
		project: "device-gateway",
		// Any engine runs the image.
		idfVersion: "virtual",
		securityVersion,
		buildTime,
		segments: releaseKeys === "" ? [program] : [program, Buffer.from(releaseKeys)],
	});
}

/** File with its offset in the flash in bytes. */
export interface FlashPart {
	readonly name: string;
	readonly offset: number;
	readonly bytes: Buffer;
}

const digestBytes = 32;
/** Offset of the digest of the last given settings, after that of the image. */
const settingsDigestOffset = digestBytes;

/**
 * Returns all parts of a new device except its settings, with the names and offsets of ESP-IDF's build. In place of the boot loader, which
 * is boot-loader.ts, there is the digest of the image.
 */
export function factoryParts(image: Buffer): readonly FlashPart[] {
	const { otadata, ota_0: slot } = partitions;
	if (image.length > slot.byteLength) throw new Error("The firmware does not fit its slot.");
	const name = "ota_data_initial.bin";
	return [
		{ name: "bootloader.bin", offset: 0, bytes: sha256(image) },
		{ name: "partition-table.bin", offset: partitionTableOffset, bytes: makePartitionTable() },
		{ name, offset: otadata.offset, bytes: Buffer.alloc(otadata.byteLength, 0xff) },
		{ name: "firmware.bin", offset: slot.offset, bytes: image },
	];
}

/** Flashes the image unless it was the last one flashed. Keeps the settings. */
export function flashFactoryImage(flash: Flash, image: Buffer): void {
	if (flash.read(0, digestBytes).equals(sha256(image))) return;
	const { offset, byteLength } = partitions.nvs;
	const settings = flash.read(offset, byteLength);
	const settingsDigest = flash.read(settingsDigestOffset, digestBytes);
	flash.wipe();
	flash.load(offset, settings);
	flash.load(settingsDigestOffset, settingsDigest);
	for (const part of factoryParts(image)) flash.load(part.offset, part.bytes);
}

/**
 * Writes settings. Does nothing if they equal the last given ones, because set_settings may have changed them since.
 *
 * @param settings new values; an empty value removes a setting, an absent one keeps it
 * @param defaults values for settings neither given nor stored
 * @throws {RangeError} if a value does not fit NVS
 */
export function flashSettings(
	flash: Flash,
	settings: Readonly<Record<string, string>>,
	defaults: Readonly<Record<string, string>> = {},
): void {
	const stored = readSettings(flash);
	const mark = sha256(JSON.stringify(settings));
	if (stored.has("gateway") && flash.read(settingsDigestOffset, digestBytes).equals(mark)) return;
	flash.load(settingsDigestOffset, mark);
	const values = new Map([...Object.entries(defaults), ...stored]);
	for (const [name, value] of Object.entries(settings)) {
		if (value === "") values.delete(name);
		else values.set(name, value);
	}
	if (values.size === stored.size && [...values].every(([name, value]) => stored.get(name) === value)) return;
	loadSettings(flash, values);
}

const { defines }: { readonly defines: { readonly firmware: { readonly securityVersion: number } } } =
	JSON.parse(readFileSync(new URL("../../../../manifest.json", import.meta.url), "utf8"));
/** Same define as for boards (hosts/esp32/board-descriptor.c). */
const checkoutSecurityVersion = defines.firmware.securityVersion;

function sha256(data: string | Buffer): Buffer {
	return createHash("sha256").update(data).digest();
}
