/**
 * The whole flash of an ESP32, as a cable would leave it: boot loader, partition table, boot state and image, each at its
 * place, and 0xFF, which is erased, around them. Espressif's esptool makes the same, but is not needed for it.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Of the ESP32; later chips begin at 0. */
const bootLoaderOffset = 0x1000;
/** ESP-IDF's default, which the SDK keeps. */
const partitionTableOffset = 0x8000;

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

export interface FlashImageOptions {
	/** Where the build put its files. */
	readonly folder: string;
	/** partitions.csv */
	readonly partitionsFile: string;
	/** Bytes. */
	readonly flashBytes: number;
}

/** @throws Error where a file is missing, or longer than the place it has */
export function makeFlashImage({ folder, partitionsFile, flashBytes }: FlashImageOptions): Uint8Array {
	const partitions = readPartitions(readFileSync(partitionsFile, "utf8"));
	const placeOf = (subtype: string) => {
		const partition = partitions.find((one) => one.subtype === subtype);
		if (!partition) throw new Error(`${partitionsFile} has no partition ${subtype}`);
		return partition;
	};
	const firstPartition = Math.min(...partitions.map(({ offset }) => offset));
	const places = [
		{ file: "bootloader.bin", offset: bootLoaderOffset, size: partitionTableOffset - bootLoaderOffset },
		{
			file: "partition-table.bin",
			offset: partitionTableOffset,
			size: firstPartition - partitionTableOffset,
		},
		{ file: "ota_data_initial.bin", ...placeOf("ota") },
		{ file: "xs_esp32.bin", ...placeOf("ota_0") },
	];
	const flash = new Uint8Array(flashBytes).fill(0xff);
	for (const { file, offset, size } of places) {
		const bytes = readFileSync(join(folder, file));
		if (bytes.byteLength > size)
			throw new Error(`${file} has ${bytes.byteLength} bytes; there is room for ${size}`);
		flash.set(bytes, offset);
	}
	return flash;
}
