/**
 * What lies where in a board's flash, as a cable leaves it: boot loader, partition table, boot state, image, and in a
 * partition of their own the settings of this one device. Images hold none, so that one image fits every device.
 */

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Chip } from "../../device/protocol/messages.js";
import { makeNvsImage, settingsNamespace } from "../../hosts/esp32/nvs-image.js";
import type { DeviceSettings } from "../command-line/device-settings.js";

/** The chip's ROM looks for the boot loader here. */
const bootLoaderOffsets = Object.freeze({ esp32: 0x1000, esp32s3: 0 });
export type BoardChip = keyof typeof bootLoaderOffsets & Chip;

/** ESP-IDF's default, which the SDK keeps. */
const partitionTableOffset = 0x8000;
const partitionTableBytes = 0x1000;

export interface Partition {
	readonly name: string;
	readonly type: string;
	readonly subtype: string;
	/** Bytes. */
	readonly offset: number;
	readonly size: number;
}

/** @param csv as ESP-IDF's gen_esp32part.py takes it, with every offset written */
export function readPartitions(csv: string): readonly Partition[] {
	return csv
		.split(/\r?\n/)
		.filter((line) => line !== "" && !line.startsWith("#"))
		.map((line) => {
			const [name = "", type = "", subtype = "", offset = "", size = ""] = line
				.split(",")
				.map((cell) => cell.trim());
			return { name, type, subtype, offset: Number(offset), size: Number(size) };
		});
}

/** A file and where it belongs in flash. */
export interface FlashFile {
	readonly file: string;
	/** Bytes. */
	readonly offset: number;
}

export interface BuiltFirmware {
	readonly chip: BoardChip;
	/** Where the build put its files. */
	readonly folder: string;
	/** partitions.csv */
	readonly partitionsFile: string;
}

/**
 * Everything that a board starts with but its settings.
 *
 * @throws Error where a file is missing, or longer than the place it has
 */
export function firmwareFiles({ chip, folder, partitionsFile }: BuiltFirmware): readonly FlashFile[] {
	const bootLoaderOffset = bootLoaderOffsets[chip];
	const places = [
		{ name: "bootloader.bin", offset: bootLoaderOffset, size: partitionTableOffset - bootLoaderOffset },
		{ name: "partition-table.bin", offset: partitionTableOffset, size: partitionTableBytes },
		{ ...partitionNamed(partitionsFile, "otadata"), name: "ota_data_initial.bin" },
		{ ...partitionNamed(partitionsFile, "ota_0"), name: "xs_esp32.bin" },
	];
	return places.map(({ name, offset, size }) => {
		const file = join(folder, name);
		if (!existsSync(file)) throw new Error(`the build made no ${name}; what it printed says why`);
		const { size: byteLength } = statSync(file);
		if (byteLength > size) throw new Error(`${name} has ${byteLength} bytes; there is room for ${size}`);
		return { file, offset };
	});
}

/** A whole partition, and where it begins. */
export interface SettingsPartition {
	readonly offset: number;
	readonly bytes: Uint8Array;
}

/** @throws Error that says which setting is too long */
export function settingsPartition(partitionsFile: string, settings: DeviceSettings): SettingsPartition {
	const { offset, size } = partitionNamed(partitionsFile, "nvs");
	const bytes = makeNvsImage({ byteLength: size, namespace: settingsNamespace, values: settings });
	return { offset, bytes };
}

/**
 * The whole flash; what nothing is written to is 0xFF, which is erased.
 *
 * @param flashBytes its size
 * @throws Error as firmwareFiles does
 */
export function makeFlashImage(
	built: BuiltFirmware,
	settings: SettingsPartition,
	flashBytes: number,
): Uint8Array {
	const flash = new Uint8Array(flashBytes).fill(0xff);
	for (const { file, offset } of firmwareFiles(built)) flash.set(readFileSync(file), offset);
	flash.set(settings.bytes, settings.offset);
	return flash;
}

/**
 * A flash that was in use, with other settings; what the device remembered (its volume) is lost with the old ones.
 *
 * @throws Error where its partitions are not those of this build: settings would be written over something else
 */
export function withSettings(
	flash: Uint8Array,
	{ folder }: BuiltFirmware,
	settings: SettingsPartition,
): Uint8Array {
	const table = readFileSync(join(folder, "partition-table.bin"));
	if (!table.equals(flash.subarray(partitionTableOffset, partitionTableOffset + table.byteLength)))
		throw new Error(
			"the flash that is kept has other partitions than this version; begin again without keep",
		);
	const changed = Uint8Array.from(flash);
	changed.set(settings.bytes, settings.offset);
	return changed;
}

function partitionNamed(partitionsFile: string, name: string): Partition {
	const partition = readPartitions(readFileSync(partitionsFile, "utf8")).find((one) => one.name === name);
	if (!partition) throw new Error(`${partitionsFile} has no partition ${name}`);
	return partition;
}
