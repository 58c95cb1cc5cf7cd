/** The boards' own images, built with ESP-IDF. */

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { models } from "../../../device/protocol/models.js";
import { readPartitionTable } from "../../../hosts/esp32/partition-table.js";
import { binFolder, boardOf, workFolder, writeSdkconfig } from "../../../scripts/boards/build.js";
import { partitionsFile, readPartitions } from "../../../scripts/boards/flash-image.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { buildQuietly } from "../../support/board-builds.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { boardToolsOrReason } from "../../support/programs.js";

const { sdk, reason: skip } = boardToolsOrReason();
const outputFolder = join(projectFolder, ".cache", "images");
const version = "1.0.0";
/** Links with the original Mbed TLS too, which lacks the functions of Espressif's fork for the chip's accelerators. */
const sdkconfig = ["AES", "MPI", "SHA"].map((name) => `CONFIG_MBEDTLS_HARDWARE_${name}=n\n`).join("");

/** Token in the environment of a gateway's computer. */
const token = "token-of-a-gateway-0123456789";

/** @returns settings in the format of a sdkconfig; disabled ones are "n" */
function settingsIn(text: string): ReadonlyMap<string, string> {
	const lines = text.matchAll(/^(?:# )?CONFIG_(\w+)(?:=(.*)| is not set)$/gm);
	return new Map(Array.from(lines, ([, name = "", value = "n"]) => [name, value]));
}

for (const model of models)
	test(`the image of a ${model} links, with the project's partitions and ESP-IDF settings, and no secrets`, {
		skip,
	}, async (t) => {
		if (!sdk) return;
		const environment = { ...sdk.environment, DEVICE_TOKEN: token, MONITOR_TOKEN: token };
		const options = { model, version, releaseKeys: "", outputFolder, sdkconfig };
		const image = await buildQuietly({ ...options, sdk: { ...sdk, environment } });
		assert.equal(readFileSync(image).includes(token), false, "the token of the build computer");
		t.diagnostic(`${model}: ${statSync(image).size} bytes`);
		const host = boardOf(model);
		const table = readFileSync(join(binFolder(outputFolder, host), "partition-table.bin"));
		const partitions = readPartitions(readFileSync(partitionsFile, "utf8"));
		assert.deepEqual(
			[...readPartitionTable(table)],
			partitions.map(({ name, offset, size }) => [name, { offset, byteLength: size }]),
		);
		const read = (...path: readonly string[]) => settingsIn(readFileSync(join(...path), "utf8"));
		const used = read(workFolder(outputFolder, host), "xsProj-esp32s3", "sdkconfig");
		const folder = writeSdkconfig(version, await temporaryDirectory(t), host, sdkconfig);
		for (const [name, value] of read(folder, "sdkconfig.defaults"))
			assert.equal(used.get(name) ?? "n", value, name);
	});
