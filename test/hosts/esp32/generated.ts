/**
 * Files that mcconfig generates for a board without ESP-IDF: makefile, type checker configuration, sdkconfig, glue.
 */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { boardPlatform, subplatformOf, writeSdkconfig } from "../../../scripts/boards/build.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import type { ModdableSdk } from "../../../scripts/moddable/sdk.js";

export interface Generated {
	/** Folder of the makefile. */
	readonly folder: string;
	/** Output of mcconfig, normally empty. */
	readonly output: string;
	readonly status: number | null;
	read(file: string): string;
	/** Paths of files with this suffix, relative to the folder. */
	list(ending: string): readonly string[];
	remove(): void;
}

/** Files that mcconfig generates for a model in the simulator. */
export function generateSimulated(
	sdk: ModdableSdk,
	model: string,
	settings: readonly string[] = [],
): Generated {
	const subplatform = model.toLowerCase();
	return run(sdk, `${sdk.desktop}/${subplatform}`, join(sdk.desktop, subplatform), settings);
}

/**
 * @param host folder under hosts/
 * @param version undefined: default of mcconfig
 * @param settings `key=value` for mcconfig's command line, preceded by the manifest if it is not the firmware's
 */
export function generate(
	sdk: ModdableSdk,
	host: string,
	version: string | undefined,
	settings: readonly string[] = [],
): Generated {
	return run(sdk, boardPlatform(host), join("esp32", subplatformOf(host)), settings, (output) => ({
		...(version && { SDKCONFIGPATH: writeSdkconfig(version, join(output, "sdkconfig"), host) }),
	}));
}

/** @param place of the platform in mcconfig's output */
function run(
	sdk: ModdableSdk,
	platform: string,
	place: string,
	settings: readonly string[],
	variables: (output: string) => Readonly<Record<string, string>> = () => ({}),
): Generated {
	const output = mkdtempSync(join(tmpdir(), "board-"));
	const { IDF_PATH: _idf, SDKCONFIGPATH: _sdkconfig, ...environment } = sdk.environment;
	const made = spawnSync(join(sdk.tools, "mcconfig"), ["-p", platform, "-o", output, ...settings], {
		cwd: projectFolder,
		env: { ...environment, ...variables(output) },
		encoding: "utf8",
	});
	const folder = join(output, "tmp", place, "release", "device");
	return {
		folder,
		output: made.stdout + made.stderr,
		status: made.status,
		read: (file) => readFileSync(join(folder, file), "utf8"),
		list: (ending) =>
			readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(ending)),
		remove: () => rmSync(output, { recursive: true, force: true }),
	};
}

/** tsconfig.base.json without the options that mcconfig sets itself. */
const strictness = {
	noEmit: true,
	strict: true,
	noUncheckedIndexedAccess: true,
	exactOptionalPropertyTypes: true,
	noImplicitOverride: true,
	noImplicitReturns: true,
	noFallthroughCasesInSwitch: true,
	skipLibCheck: true,
};

/**
 * Type-checks every module in strict mode with the SDK's typings. @returns the type checker's output, normally empty
 */
export function checkTypes(sdk: ModdableSdk, { folder, list, read }: Generated): string {
	const files = list("-tsconfig.json").flatMap((file) => filesOf(read(file)));
	if (files.length <= 30) return `mcconfig found ${files.length} modules only`;
	const config = { extends: "./modules/tsconfig-base.json", compilerOptions: strictness, files };
	writeFileSync(join(folder, "check.json"), JSON.stringify(config));
	const { stdout, status } = spawnSync("tsc", ["-p", join(folder, "check.json")], {
		env: sdk.environment,
		encoding: "utf8",
	});
	return status === 0 ? stdout : `${stdout}\ntsc ended with ${status}`;
}

function filesOf(tsconfig: string): readonly string[] {
	const { files }: { files: readonly string[] } = JSON.parse(tsconfig);
	return files;
}

/**
 * Two lists of the SDK's TLS, and the variable with the shared object of hosts/esp32/native.ts, which are written at
 * run time and stay in RAM.
 */
const known = [
	" cacheManager: not frozen",
	" globalCerts: not frozen",
	" nativeFunctions() functions: no const",
];

/**
 * Compiles all modules and links them into ROM, which runs each of them once.
 *
 * @returns the linker's warnings, except for known ones
 * @throws Error with the output of make
 */
export function linkIntoRom(sdk: ModdableSdk, { folder }: Generated): readonly string[] {
	const idf = fakeIdf();
	// Written by ESP-IDF in a real build; an old file makes nothing out of date.
	const header = join(folder, "xsProj-esp32s3", "build", "config", "sdkconfig.h");
	mkdirSync(join(header, ".."), { recursive: true });
	writeFileSync(header, "");
	const words = ["-f", "makefile", `-j${cpus().length}`, "-o", header, join(folder, "mc.xs.c")];
	const make = spawnSync("make", words, {
		cwd: folder,
		env: { ...sdk.environment, IDF_PATH: idf },
		encoding: "utf8",
		maxBuffer: 64 * 1024 * 1024,
	});
	rmSync(idf, { recursive: true, force: true });
	const said = make.stdout + make.stderr;
	if (make.status !== 0) throw new Error(said);
	const warnings = said.match(/^### warning: .*$/gm) ?? [];
	return warnings.filter((warning) => !known.some((end) => warning.endsWith(end)));
}

/** Folder that the SDK's makefile accepts as ESP-IDF unless something is compiled. */
function fakeIdf(): string {
	const folder = mkdtempSync(join(tmpdir(), "idf-"));
	const git = (...words: string[]) => execFileSync("git", ["-C", folder, ...words], { stdio: "ignore" });
	git("init", "-q");
	const author = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
	git(...author, "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", "no ESP-IDF");
	return folder;
}
