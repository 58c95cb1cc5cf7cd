/** Simulated computers with fake files for checks of tools. */

import type { Machine } from "../../scripts/command-line/machine.js";
import { idfVersion, sdkVersion } from "../../scripts/moddable/versions.js";

export interface FakeMachineOptions {
	readonly platform?: NodeJS.Platform;
	readonly nodeVersion?: string;
	readonly project?: string;
	readonly environment?: Readonly<Record<string, string>>;
	/** File contents by path; a path that ends with `!` cannot be opened by this user. */
	readonly files?: Readonly<Record<string, string>>;
	/** Responses on ports: a body, or undefined for a program that does not speak HTTP. */
	readonly listening?: Readonly<Record<number, string | undefined>>;
}

export function fakeMachine(options: FakeMachineOptions = {}): Machine {
	const { platform = "linux", files = {}, listening = {} } = options;
	const paths = Object.keys(files).map((path) => path.replace(/!$/, ""));
	const exists = (path: string) => paths.some((known) => known === path || known.startsWith(`${path}/`));
	return {
		platform,
		nodeVersion: options.nodeVersion ?? "22.1.0",
		home: "/home/ann",
		project: options.project ?? "/home/ann/device-gateway",
		environment: options.environment ?? {},
		exists,
		read: (path) => files[path],
		list: (folder) => [
			...new Set(
				paths
					.filter((path) => path.startsWith(`${folder}/`))
					.map((path) => path.slice(folder.length + 1).split("/")[0] ?? ""),
			),
		],
		isProgram: (path) => path in files,
		isOpen: (path) => path in files,
		run: (program) => files[program],
		isListening: async (port) => port in listening,
		fetch: async (url) => listening[Number(new URL(url).port)],
	};
}

/** Files of a Moddable SDK with built tools. @param desktop mcconfig's name of the system */
export function sdkFiles(folder: string, version = sdkVersion, desktop = "lin"): Record<string, string> {
	const programs = `${folder}/build/bin/${desktop}/release`;
	return {
		[`${folder}/tools/mcconfig.js`]: "",
		[`${folder}/tools/VERSION`]: `${version}\n`,
		[`${programs}/mcconfig`]: "",
		[`${programs}/mcsim`]: "",
	};
}

export function idfFiles(folder: string, version = idfVersion): Record<string, string> {
	const names = ["MAJOR", "MINOR", "PATCH"];
	const lines = version.split(".").map((figure, index) => `set(IDF_VERSION_${names[index]} ${figure})`);
	return {
		[`${folder}/tools/idf.py`]: "",
		[`${folder}/tools/cmake/version.cmake`]: `${lines.join("\n")}\n`,
	};
}
