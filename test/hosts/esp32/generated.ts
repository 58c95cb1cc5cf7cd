/** What mcconfig generates for a board, without ESP-IDF: makefile, type checker's configuration, sdkconfig, glue. */

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Model } from "../../../device/protocol/schema.js";
import { boardPlatform, writeSdkconfig } from "../../../scripts/board-build.js";
import { findModdableSdk, type ModdableSdk, projectFolder } from "../../../scripts/moddable-sdk.js";

/** The SDK, or why there is none: node:test takes that for the reason of a skip. */
export function sdkOrReason():
	| { readonly sdk: ModdableSdk; readonly reason?: never }
	| { readonly sdk?: never; readonly reason: string } {
	try {
		return { sdk: findModdableSdk() };
	} catch (error) {
		return { reason: error instanceof Error ? error.message : String(error) };
	}
}

export interface Generated {
	/** Where the makefile is. */
	readonly folder: string;
	/** What mcconfig said, normally nothing. */
	readonly output: string;
	readonly status: number | null;
	/** The board's name to mcconfig. */
	readonly subplatform: string;
	read(file: string): string;
	/** Paths of files whose name ends so, from the folder. */
	list(ending: string): readonly string[];
	remove(): void;
}

export function generate(sdk: ModdableSdk, model: Model, version: string): Generated {
	const output = mkdtempSync(join(tmpdir(), "board-"));
	const { IDF_PATH: _, ...environment } = sdk.environment;
	const made = spawnSync(join(sdk.tools, "mcconfig"), ["-p", boardPlatform(model), "-o", output], {
		cwd: projectFolder,
		env: { ...environment, SDKCONFIGPATH: writeSdkconfig(version, join(output, "sdkconfig")) },
		encoding: "utf8",
	});
	const subplatform = model.toLowerCase();
	const folder = join(output, "tmp", "esp32", subplatform, "release", "device");
	return {
		folder,
		output: made.stdout + made.stderr,
		status: made.status,
		subplatform,
		read: (file) => readFileSync(join(folder, file), "utf8"),
		list: (ending) =>
			readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(ending)),
		remove: () => rmSync(output, { recursive: true, force: true }),
	};
}

/** A folder that the SDK's makefile takes for ESP-IDF as long as nothing is compiled. */
export function pretendIdf(): string {
	const folder = mkdtempSync(join(tmpdir(), "idf-"));
	const git = (...words: string[]) => execFileSync("git", ["-C", folder, ...words], { stdio: "ignore" });
	git("init", "-q");
	const author = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
	git(...author, "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", "no ESP-IDF");
	return folder;
}
