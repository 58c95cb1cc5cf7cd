/** Builds the firmware for a board from its version and release keys. Settings of a single device are never compiled in. */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { headBytes, ownDescriptor, readText } from "../../device/protocol/image.js";
import type { Model } from "../../device/protocol/schema.js";
import { projectFolder } from "../command-line/project.js";
import { build, type ModdableSdk } from "../moddable/sdk.js";
import { findUnlinkedSources } from "./link-map.js";

const qemuFolder = "qemu";
const versionLine = /^CONFIG_APP_PROJECT_VER=.*$/m;

export interface BoardBuildOptions {
	readonly sdk: ModdableSdk;
	readonly model: Model;
	/** Folder under hosts/; default: the model's board. */
	readonly host?: string;
	/** Path relative to the project; default: manifest of the firmware. */
	readonly manifest?: string;
	/** Semantic version with at most 31 characters. */
	readonly version: string;
	/** Result of `formatReleaseKeys`. */
	readonly releaseKeys: string;
	readonly outputFolder: string;
	/** Lines appended to the sdkconfig. */
	readonly sdkconfig?: string;
	/** Default: prints the output. */
	readonly onOutput?: (text: string) => void;
}

/** Folder under hosts/ of the board of a model. */
export function boardOf(model: Model): string {
	return model.toLowerCase();
}

/** Folder under hosts/ of the board of a model in QEMU. */
export function qemuBoardOf(model: Model): string {
	return `${qemuFolder}/${boardOf(model)}`;
}

export function isInQemu(host: string): boolean {
	return host.startsWith(`${qemuFolder}/`);
}

/** Folder of a host in the output of mcconfig (SUBPLATFORM of its manifest), which all boards share so that ESP-IDF is built once. */
export function subplatformOf(host: string): string {
	return isInQemu(host) ? qemuFolder : "boards";
}

/** Argument for -p of mcconfig. */
export function boardPlatform(host: string): string {
	return `esp32:./hosts/${host}`;
}

/** Folder of boot loader, partition table and image. */
export function binFolder(outputFolder: string, host: string): string {
	return join(outputFolder, "bin", "esp32", subplatformOf(host), "release", "device");
}

/** Folder of intermediate files. */
export function workFolder(outputFolder: string, host: string): string {
	return join(outputFolder, "tmp", "esp32", subplatformOf(host), "release", "device");
}

/**
 * @returns path of the image
 * @throws Error if the build fails, or the image has a different model or version, or lacks the release keys or a C source
 */
export async function buildBoard(options: BoardBuildOptions): Promise<string> {
	const { sdk, model, host = boardOf(model), version, releaseKeys, outputFolder, onOutput } = options;
	const image = join(binFolder(outputFolder, host), "xs_esp32.bin");
	const map = join(binFolder(outputFolder, host), "xs_esp32.map");
	// mcconfig may succeed without replacing them. Its makefile lacks the dependency of the last one on the version.
	for (const file of [image, map, join(workFolder(outputFolder, host), "board-descriptor.c.o")])
		rmSync(file, { force: true });
	const SDKCONFIGPATH = writeSdkconfig(version, join(outputFolder, "sdkconfig"), host, options.sdkconfig);
	const { SOURCE_DATE_EPOCH = String(Math.floor(Date.now() / 1000)) } = sdk.environment;
	await build({
		sdk: { ...sdk, environment: { ...sdk.environment, SDKCONFIGPATH, SOURCE_DATE_EPOCH } },
		platform: boardPlatform(host),
		...(options.manifest && { manifest: options.manifest }),
		outputFolder,
		isDebug: false,
		settings: releaseKeys === "" ? [] : [`release_keys=${releaseKeys}`],
		onOutput,
	});
	const made = readDescriptor(image);
	if (made.model !== model || made.version !== version)
		throw new Error(
			`Build produced an image of ${made.model} ${made.version} instead of ${model} ${version}.`,
		);
	if (!readFileSync(image).includes(releaseKeys))
		throw new Error(
			"Build produced an image without the release keys. Delete the output folder and build again.",
		);
	requireAllLinked(join(workFolder(outputFolder, host), "makefile"), map);
	return image;
}

/** @throws Error that names C sources which are missing in the image */
function requireAllLinked(makefile: string, map: string): void {
	if (!existsSync(map)) throw new Error("Build produced no link map. Check its output.");
	const unlinked = findUnlinkedSources(readFileSync(makefile, "utf8"), readFileSync(map, "utf8"));
	if (unlinked.length > 0)
		throw new Error(
			`${unlinked.join(" and ")} not linked, since no other file uses its symbols. Call a function of it, or remove it from its manifest.`,
		);
}

/**
 * Copies the sdkconfig of the boards with another version.
 *
 * @param host folder under hosts/; for QEMU, its settings are appended
 * @param more further lines
 * @returns folder of the copy, for SDKCONFIGPATH
 */
export function writeSdkconfig(version: string, folder: string, host: string, more = ""): string {
	if (!/^[0-9A-Za-z.+-]{1,31}$/.test(version))
		throw new Error(`Invalid version "${version}": use 1 to 31 letters, digits, ".", "+" and "-".`);
	const hosts = join(projectFolder, "hosts");
	const file = join(hosts, "esp32", "sdkconfig", "sdkconfig.defaults");
	const tail = isInQemu(host) ? readFileSync(join(hosts, qemuFolder, "sdkconfig.defaults"), "utf8") : "";
	const committed = readFileSync(file, "utf8") + tail + more;
	if (!versionLine.test(committed)) throw new Error(`CONFIG_APP_PROJECT_VER not found in ${file}.`);
	mkdirSync(folder, { recursive: true });
	writeFileSync(
		join(folder, "sdkconfig.defaults"),
		committed.replace(versionLine, `CONFIG_APP_PROJECT_VER="${version}"`),
	);
	return folder;
}

/** Reads the descriptor of the firmware from an image. */
export function readDescriptor(image: string): { readonly model: string; readonly version: string } {
	let bytes: Buffer;
	try {
		bytes = readFileSync(image);
	} catch {
		throw new Error("Build produced no image. Check its output.");
	}
	if (bytes.length < headBytes || bytes.readUInt32LE(ownDescriptor.offset) !== ownDescriptor.magic)
		throw new Error("Image without firmware descriptor (hosts/esp32/board-descriptor.c).");
	return { model: readText(bytes, ownDescriptor.model), version: readText(bytes, ownDescriptor.version) };
}
