/** Contents of the flash: boot loader, partition table, boot state, image, and a partition with the settings of the device. */

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { makeNvsImage, settingsNamespace } from "../../hosts/esp32/nvs-image.js";
import { partitionTableBytes, partitionTableOffset } from "../../hosts/esp32/partition-table.js";
import type { DeviceSettings } from "../command-line/device-settings.js";
import { projectFolder } from "../command-line/project.js";

/** Offset from which the ROM of the ESP32-S3 loads the boot loader. */
const bootLoaderOffset = 0;
const flashBytes = 16 * 1024 * 1024;

/** Partition table of the boards. */
export const partitionsFile = join(projectFolder, "hosts", "esp32", "sdkconfig", "partitions.csv");

export interface Partition {
	readonly name: string;
	readonly type: string;
	readonly subtype: string;
	/** Offset and size in bytes. */
	readonly offset: number;
	readonly size: number;
}

/** @param csv input of gen_esp32part.py of ESP-IDF, with all offsets */
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

export interface FlashFile {
	readonly file: string;
	/** Offset in bytes. */
	readonly offset: number;
}

/**
 * Lists all files except the settings.
 *
 * @param folder result of `binFolder`
 * @throws Error if a file is missing, or too long for its partition
 */
export function firmwareFiles(folder: string): readonly FlashFile[] {
	const places = [
		{ name: "bootloader.bin", offset: bootLoaderOffset, size: partitionTableOffset - bootLoaderOffset },
		{ name: "partition-table.bin", offset: partitionTableOffset, size: partitionTableBytes },
		{ ...partitionNamed("otadata"), name: "ota_data_initial.bin" },
		{ ...partitionNamed("ota_0"), name: "xs_esp32.bin" },
	];
	return places.map(({ name, offset, size }) => {
		const file = join(folder, name);
		if (!existsSync(file)) throw new Error(`Build produced no ${name}. Check its output.`);
		const { size: byteLength } = statSync(file);
		if (byteLength > size) throw new Error(`${name} has ${byteLength} bytes, at most ${size} are available.`);
		return { file, offset };
	});
}

export interface SettingsPartition {
	readonly offset: number;
	readonly bytes: Uint8Array;
}

/** @throws Error that names an oversized setting */
export function settingsPartition(settings: DeviceSettings): SettingsPartition {
	const { offset, size } = partitionNamed("nvs");
	const bytes = makeNvsImage({ byteLength: size, namespace: settingsNamespace, values: settings });
	return { offset, bytes };
}

/** Creates an image of the whole flash; unused bytes are 0xFF. @throws Error like firmwareFiles */
export function makeFlashImage(folder: string, settings: SettingsPartition): Uint8Array {
	const flash = new Uint8Array(flashBytes).fill(0xff);
	for (const { file, offset } of firmwareFiles(folder)) flash.set(readFileSync(file), offset);
	flash.set(settings.bytes, settings.offset);
	return flash;
}

export function partitionNamed(name: string): Partition {
	const partition = readPartitions(readFileSync(partitionsFile, "utf8")).find(
		(candidate) => candidate.name === name,
	);
	if (!partition) throw new Error(`Partition ${name} not found in ${partitionsFile}.`);
	return partition;
}
