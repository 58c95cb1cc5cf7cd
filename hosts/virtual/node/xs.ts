/** XS engines for virtual devices: that of the Moddable SDK, which the boards run, or that of the npm package. */

import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Limits } from "./machine.js";

/** Version of the Moddable SDK: its git tag and tools/VERSION. Other versions lack files of the manifests. */
export const sdkVersion = "8.2.3";

export interface XsEngine {
	/** Major version, and the minor one of XS 13: "XS 17", "XS 13.3". */
	readonly version: string;
	/** Version and origin. */
	readonly description: string;
	/** Contains sources, includes and platforms. */
	readonly folder: string;
	/** Changes with the sources. */
	readonly versionFile: string;
	/** Heap limits of devices, where they differ from those of Machine. */
	readonly limits: Partial<Limits>;
}

const npmPackage = fileURLToPath(new URL("../../../node_modules/@agoric/xsnap", import.meta.url));
const boardManifest = new URL("../../esp32/manifest.json", import.meta.url);

/** Returns MODDABLE, or the default folder of xs-dev. */
export function sdkFolder(
	environment: Readonly<NodeJS.ProcessEnv>,
	home: string,
	platform: NodeJS.Platform,
): string {
	if (environment.MODDABLE) return environment.MODDABLE;
	return platform === "win32"
		? path.win32.join(home, "xs-dev", "moddable")
		: path.posix.join(home, ".local", "share", "moddable");
}

/**
 * Finds the engine of the Moddable SDK, or that of the npm package if the SDK is missing or has another version. The environment variable
 * XS selects one: "npm" or "sdk".
 *
 * @throws Error if XS is invalid, or "sdk" without a suitable SDK
 */
export function findXs(environment: Readonly<NodeJS.ProcessEnv> = process.env): XsEngine {
	const { XS: wanted = "" } = environment;
	if (!["", "npm", "sdk"].includes(wanted)) throw new Error(`XS must be npm or sdk, not "${wanted}".`);
	const folder = sdkFolder(environment, homedir(), process.platform);
	const found = wanted === "npm" ? undefined : findSdkXs(folder);
	if (found) return found;
	if (wanted === "sdk")
		throw new Error(
			`XS=sdk requires the Moddable SDK ${sdkVersion}, which is not in ${folder}. Set MODDABLE to its folder, ` +
				"install it (hosts/README.md), or unset XS.",
		);
	const versionFile = path.join(npmPackage, "package.json");
	const { name, version } = JSON.parse(readFileSync(versionFile, "utf8"));
	return {
		version: "XS 13.3",
		description: `XS 13.3 (${name} ${version})`,
		folder: path.join(npmPackage, "moddable", "xs"),
		versionFile,
		limits: {},
	};
}

function findSdkXs(sdk: string): XsEngine | undefined {
	const versionFile = path.join(sdk, "tools", "VERSION");
	const folder = path.join(path.resolve(sdk), "xs");
	if (!existsSync(versionFile) || !existsSync(path.join(folder, "sources", "xsAll.h"))) return undefined;
	if (readFileSync(versionFile, "utf8").trim() !== sdkVersion) return undefined;
	const { chunk, heap, stack } = JSON.parse(readFileSync(boardManifest, "utf8")).creation;
	return {
		version: "XS 17",
		description: `XS 17 (Moddable SDK ${sdkVersion})`,
		folder,
		versionFile,
		limits: { chunkBytes: chunk.initial, slots: heap.initial, stackSlots: stack },
	};
}
