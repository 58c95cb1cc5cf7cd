/**
 * `npm run release -- 1.4.0`: builds the images of a version, the boards' and QEMU's where the Moddable SDK and ESP-IDF are
 * found and the virtual devices' always, and adds them to the folder of releases. A gateway that runs offers them at once.
 */

import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { models } from "../device/protocol/schema.js";
import { makeVirtualImage } from "../hosts/virtual/node/boot/factory-flash.js";
import { buildFirmware } from "../hosts/virtual/node/firmware.js";
import { missingIdf } from "./board-tools.js";
import { findModdableSdk, MissingTool, type ModdableSdk, projectFolder } from "./moddable-sdk.js";
import { addRelease, ReleaseRefused, readCatalog, requireNewVersion } from "./release-folder.js";
import { buildReleaseImages } from "./release-images.js";

const usage = `npm run release -- <version> [--notes "what is new"] [--allow-dirty]
The version is a semantic one, such as 1.4.0 or 1.5.0-rc.1. Releases go to RELEASES_DIR, or releases.
--allow-dirty: although there are changes that are not committed.`;

try {
	await run();
} catch (error) {
	const isExpected = error instanceof ReleaseRefused || error instanceof MissingTool;
	console.error(isExpected ? error.message : error);
	process.exitCode = 1;
}

async function run(): Promise<void> {
	const { version, notes, allowDirty } = readArguments();
	const releasesDir = resolve(process.env.RELEASES_DIR || "releases");
	requireNewVersion(await readCatalog(releasesDir), version);
	if (!allowDirty) requireCleanTree();

	const now = new Date();
	const { bytes } = await buildFirmware();
	const buildTime = Math.floor(now.getTime() / 1000);
	const images = models.map((model) => makeVirtualImage(bytes, model, version, buildTime));
	const sdk = findBoardTools();
	if (typeof sdk === "string") console.log(`Without images for boards and QEMU: ${sdk}`);
	else {
		const buildFolder = join(projectFolder, ".cache");
		const onOutput = (text: string) => process.stdout.write(text);
		images.push(...(await buildReleaseImages({ sdk, version, buildFolder, onOutput })));
	}

	const date = now.toISOString().slice(0, 10);
	const catalog = await addRelease(releasesDir, { version, date, notes, images });
	const release = catalog.releases.find((candidate) => candidate.version === version);
	for (const { model, chip, path, size } of release?.images ?? [])
		console.log(`${model} (${chip})  ${path}  ${size} bytes`);
	console.log(`Release ${version} is in ${releasesDir}; the latest is ${catalog.latest ?? "none"}.`);
}

/** @returns the SDK, or why there is none to build for boards with */
function findBoardTools(): ModdableSdk | string {
	try {
		const sdk = findModdableSdk();
		return missingIdf(process.env) ?? sdk;
	} catch (error) {
		if (error instanceof MissingTool) return error.message;
		throw error;
	}
}

/** What is released must be found again by its commit. */
function requireCleanTree(): void {
	let changes: string;
	try {
		changes = execFileSync("git", ["status", "--porcelain"], {
			cwd: projectFolder,
			encoding: "utf8",
			stdio: ["ignore", "pipe", "ignore"],
		});
	} catch {
		throw new ReleaseRefused(
			"this is no git checkout, so nobody could find again what was released; --allow-dirty",
		);
	}
	if (changes !== "")
		throw new ReleaseRefused(
			`there are changes that are not committed; commit them, or --allow-dirty:\n${changes}`,
		);
}

function readArguments() {
	try {
		const { values, positionals } = parseArgs({
			allowPositionals: true,
			options: {
				notes: { type: "string", default: "" },
				"allow-dirty": { type: "boolean", default: false },
			},
		});
		const [version, ...others] = positionals;
		if (version === undefined || others.length > 0) throw new Error("one version is needed");
		return { version, notes: values.notes, allowDirty: values["allow-dirty"] };
	} catch (error) {
		throw new ReleaseRefused(`${error instanceof Error ? error.message : error}\n\n${usage}`);
	}
}
