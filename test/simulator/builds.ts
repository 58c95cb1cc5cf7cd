/**
 * Firmware builds for the simulator. They are cached under .cache by a hash of their inputs and renamed into place,
 * so that several test files can build at the same time.
 */

import { createHash } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { join, relative } from "node:path";
import type { Model } from "../../device/protocol/schema.js";
import { projectFolder } from "../../scripts/command-line/project.js";
import { build, type ModdableSdk } from "../../scripts/moddable/sdk.js";
import { buildForSimulator } from "../../scripts/simulator/app.js";

const cache = join(projectFolder, ".cache", "simulator-tests");
const apps = "test/simulator/xs";
const sources = ["manifest.json", "package.json", "device", "hosts/moddable", "hosts/simulator", apps];

export interface Builds {
	/** Firmware as an app for mcsim. */
	readonly firmware: string;
	/** App of xs/ending, only for the DEV-1. */
	readonly ending: string;
	/** Output of mcconfig. */
	readonly output: string;
}

/** @throws Error with mcconfig's output if it failed */
export async function builds(sdk: ModdableSdk, model: Model): Promise<Builds> {
	const folder = join(cache, `${model.toLowerCase()}-${keyOf(sdk)}`);
	if (!existsSync(folder)) await buildInto(folder, sdk, model);
	const app = (parent: string, name: string) =>
		join(parent, "bin", sdk.desktop, model.toLowerCase(), "debug", name, "mc.so");
	return {
		firmware: app(folder, "device"),
		ending: app(join(folder, "ending"), "device"),
		output: readFileSync(join(folder, "output.txt"), "utf8"),
	};
}

/** Builds from scratch, so that the linker prints all of its warnings. */
async function buildInto(folder: string, sdk: ModdableSdk, model: Model): Promise<void> {
	const outputFolder = `${folder}.${process.pid}`;
	mkdirSync(outputFolder, { recursive: true });
	let output = "";
	const onOutput = (text: string) => {
		output += text;
	};
	const platform = `${sdk.desktop}/${model.toLowerCase()}`;
	try {
		await buildForSimulator({ sdk, model, releaseKeys: "", outputFolder, onOutput });
		if (model === "DEV-1") {
			const manifest = join(apps, "ending", "manifest.json");
			await build({
				sdk,
				platform,
				manifest,
				outputFolder: join(outputFolder, "ending"),
				isDebug: true,
				onOutput,
			});
		}
		writeFileSync(join(outputFolder, "output.txt"), output);
		for (const app of ["", "ending"])
			rmSync(join(outputFolder, app, "tmp"), { recursive: true, force: true });
		putInPlace(outputFolder, folder);
	} catch (error) {
		throw new Error(`${error}\n${output}`);
	} finally {
		rmSync(outputFolder, { recursive: true, force: true });
	}
}

function putInPlace(outputFolder: string, folder: string): void {
	try {
		renameSync(outputFolder, folder);
	} catch (error) {
		// Another test file was faster.
		if (!existsSync(folder)) throw error;
	}
}

/** Cache key of a build from these sources with this SDK, by the date of its tools. */
function keyOf(sdk: ModdableSdk): string {
	const hash = createHash("sha256").update(`${sdk.folder} ${statSync(join(sdk.tools, "xsc")).mtimeMs}`);
	for (const file of sources.flatMap(filesIn))
		hash.update(`\n${relative(projectFolder, file)}\n`).update(readFileSync(file));
	return hash.digest("hex").slice(0, 32);
}

/** All inputs except those that mcsim reads itself: the panels, which no build contains. */
function filesIn(source: string): string[] {
	const path = join(projectFolder, source);
	if (statSync(path).isFile()) return [path];
	return readdirSync(path, { recursive: true, encoding: "utf8" })
		.map((file) => join(path, file))
		.filter((file) => !/[\\/](panels|screenshots)[\\/]/.test(file) && statSync(file).isFile())
		.sort();
}
