/**
 * Builds the firmware for a board. The version comes from outside into the two descriptors in the image, by way of a copy of
 * the boards' sdkconfig: the committed file never changes, and no image goes out with a version that nobody gave it. Nothing
 * else does: what is particular to a device lies in its settings.
 */

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { headBytes, ownDescriptor, readText } from "../../device/protocol/image.js";
import type { Model } from "../../device/protocol/schema.js";
import { projectFolder } from "../command-line/project.js";
import { build, type ModdableSdk } from "../moddable/sdk.js";

const versionLine = /^CONFIG_APP_PROJECT_VER=.*$/m;

export interface BoardBuildOptions {
	readonly sdk: ModdableSdk;
	readonly model: Model;
	/** Folder under hosts/. Default: the model's board. */
	readonly host?: string;
	/** By semantic versioning, at most 31 characters. */
	readonly version: string;
	/** Where all output goes; made if missing. */
	readonly outputFolder: string;
	/** Each piece of what the build prints. */
	readonly onOutput: (text: string) => void;
}

/** Folder under hosts/ of a model's board. */
export function boardOf(model: Model): string {
	return model.toLowerCase();
}

/** As mcconfig's -p takes it. */
export function boardPlatform(host: string): string {
	return `esp32:./hosts/${host}`;
}

/** Where a build of a release puts boot loader, partition table and image. */
export function binFolder(outputFolder: string, host: string): string {
	return join(outputFolder, "bin", "esp32", host, "release", "device");
}

/**
 * @returns the path of the image: what an update carries
 * @throws Error where the build fails, or the image is not of this model and version
 */
export async function buildBoard(options: BoardBuildOptions): Promise<string> {
	const { sdk, model, host = boardOf(model), version, outputFolder, onOutput } = options;
	const image = join(binFolder(outputFolder, host), "xs_esp32.bin");
	// The SDK does not make sure that this is a new one.
	rmSync(image, { force: true });
	// Its makefile does not know that this file's content depends on the version.
	rmSync(join(outputFolder, "tmp", "esp32", host, "release", "device", "board-descriptor.c.o"), {
		force: true,
	});
	const SDKCONFIGPATH = writeSdkconfig(version, join(outputFolder, "sdkconfig"), host);
	const { SOURCE_DATE_EPOCH = String(Math.floor(Date.now() / 1000)) } = sdk.environment;
	await build({
		sdk: { ...sdk, environment: { ...sdk.environment, SDKCONFIGPATH, SOURCE_DATE_EPOCH } },
		platform: boardPlatform(host),
		outputFolder,
		isDebug: false,
		onOutput,
	});
	const made = readDescriptor(image);
	if (made.model !== model || made.version !== version)
		throw new Error(`the build made an image of ${made.model} ${made.version}, not of ${model} ${version}`);
	return image;
}

/**
 * A host's sdkconfig with another version.
 *
 * @param host folder under hosts/; one without a sdkconfig of its own has the boards'
 * @returns its folder, for SDKCONFIGPATH
 */
export function writeSdkconfig(version: string, folder: string, host = "esp32"): string {
	if (!/^[0-9A-Za-z.+-]{1,31}$/.test(version))
		throw new Error(`the version must be 1 to 31 of letters, digits, ".", "+" and "-", not "${version}"`);
	const fileOf = (name: string) => join(projectFolder, "hosts", name, "sdkconfig", "sdkconfig.defaults");
	const file = existsSync(fileOf(host)) ? fileOf(host) : fileOf("esp32");
	const committed = readFileSync(file, "utf8");
	if (!versionLine.test(committed)) throw new Error(`${file} has no CONFIG_APP_PROJECT_VER`);
	mkdirSync(folder, { recursive: true });
	writeFileSync(
		join(folder, "sdkconfig.defaults"),
		committed.replace(versionLine, `CONFIG_APP_PROJECT_VER="${version}"`),
	);
	return folder;
}

/** Our descriptor in an image. */
export function readDescriptor(image: string): { readonly model: string; readonly version: string } {
	let bytes: Buffer;
	try {
		bytes = readFileSync(image);
	} catch {
		throw new Error("the build made no image; what it printed says why");
	}
	if (bytes.length < headBytes || bytes.readUInt32LE(ownDescriptor.offset) !== ownDescriptor.magic)
		throw new Error("the image lacks the firmware's descriptor (hosts/esp32/board-descriptor.c)");
	return { model: readText(bytes, ownDescriptor.model), version: readText(bytes, ownDescriptor.version) };
}
