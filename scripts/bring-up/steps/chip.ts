/** Test of chip, memory and partition table against the requirements of the firmware. */

import { readFileSync } from "node:fs";
import { partitionsFile, readPartitions } from "../../boards/flash-image.js";
import { boardModule } from "../hardware.js";
import { type Context, type Finding, failed, passed } from "../step.js";

export async function checkChip({ board, model, chip }: Context): Promise<Finding> {
	const found = await board.request("about", {});
	const revision = `v${Math.floor(found.revision / 100)}.${found.revision % 100}`;
	const heap = Math.round(found.free_heap_bytes / 1024);
	const facts = `${found.chip} ${revision}, ${found.flash_mb} MB flash, ${found.psram_mb} MB PSRAM, ${heap} KB heap free, MAC ${found.mac_address}, ESP-IDF ${found.idf_version}, last restart ${found.reset_reason}`;
	const problems: string[] = [];
	if (found.model !== model)
		problems.push(`The program was built for ${found.model}, not for ${model}. Flash it again.`);
	if (found.chip !== chip)
		problems.push(`The chip is an ${found.chip}; the firmware of this board requires an ${chip}.`);
	if (found.flash_mb < boardModule.flashMB)
		problems.push(
			`The flash has ${found.flash_mb} MB; ${partitionsFile} requires ${boardModule.flashMB} MB. The module is not an ${boardModule.name}.`,
		);
	if (found.psram_mb < boardModule.psramMB)
		problems.push(
			`${found.psram_mb === 0 ? "No PSRAM detected" : `PSRAM has ${found.psram_mb} MB`}; the firmware requires ${boardModule.psramMB} MB of octal PSRAM. The module is not an ${boardModule.name}.`,
		);
	problems.push(...partitionProblems(found.partitions, partitionsFile));
	return problems.length > 0 ? failed(facts, ...problems) : passed(facts);
}

interface Place {
	readonly name: string;
	readonly offset: number;
	readonly size: number;
}

function partitionProblems(found: readonly Place[], file: string): readonly string[] {
	const wanted = readPartitions(readFileSync(file, "utf8"));
	return wanted.flatMap((partition) => {
		const there = found.find(({ name }) => name === partition.name);
		const place = ({ offset, size }: Place) => `0x${offset.toString(16)} with ${size / 1024} KB`;
		if (!there) return [`Partition ${partition.name} not found. Flash the board again over USB.`];
		return place(there) === place(partition)
			? []
			: [
					`Partition ${partition.name} is at ${place(there)} instead of ${place(partition)}. Flash the board again over USB.`,
				];
	});
}
