/** Optional programs and SDKs of tests. All tests find them here, so that OPTIONAL_PROGRAMS=none hides all of them. */

import { messageOf } from "../../device/message-of.js";
import { findIdf } from "../../scripts/boards/tools.js";
import {
	findPrograms,
	foldersOnPath,
	type Machine,
	thisMachine,
} from "../../scripts/command-line/machine.js";
import { findProject, findSdk, type ModdableSdk } from "../../scripts/moddable/sdk.js";
import { findQemu } from "../../scripts/qemu/tools.js";
import { fakeMachine } from "./fake-machine.js";

interface OptionalProgram {
	/** Debian package. */
	readonly package: string;
	/** File names; default: that of the program. */
	readonly names?: readonly string[];
}

/** Programs by name. A variable overrides the path: that of nats-server is NATS_SERVER. */
const programs = Object.freeze({
	"C compiler": { package: "build-essential", names: ["cc", "gcc", "clang"] },
	Xvfb: { package: "xvfb" },
	caddy: { package: "caddy" },
	chromium: {
		package: "chromium",
		names: ["chromium", "chromium-browser", "google-chrome", "Google Chrome", "Chromium"],
	},
	"chromium-headless-shell": { package: "chromium-headless-shell" },
	ffmpeg: { package: "ffmpeg" },
	haproxy: { package: "haproxy" },
	mosquitto: { package: "mosquitto" },
	mosquitto_passwd: { package: "mosquitto" },
	"nats-server": { package: "nats-server" },
	nginx: { package: "nginx-light" },
	openssl: { package: "openssl" },
	promtool: { package: "prometheus" },
	script: { package: "bsdutils" },
	"systemd-analyze": { package: "systemd" },
	unshare: { package: "util-linux" },
	xdotool: { package: "xdotool" },
} satisfies Record<string, OptionalProgram>);
export type ProgramName = keyof typeof programs;
export const programNames = Object.keys(programs);

/** Folders outside of a user's PATH on Debian and macOS. */
const moreFolders = [
	"/usr/sbin",
	"/usr/local/sbin",
	"/usr/local/bin",
	"/opt/homebrew/bin",
	"/Applications/Google Chrome.app/Contents/MacOS",
	"/Applications/Chromium.app/Contents/MacOS",
];

/** This computer, or with OPTIONAL_PROGRAMS=none an empty one. */
export const testMachine: Machine = process.env.OPTIONAL_PROGRAMS === "none" ? fakeMachine() : thisMachine();

/** @returns its path, or undefined if it is not installed */
export function findOptional(name: ProgramName): string | undefined {
	const { names = [name] }: OptionalProgram = programs[name];
	const path = testMachine.environment[variableOf(name)];
	if (path && testMachine.isProgram(path)) return path;
	const folders = [...foldersOnPath(testMachine), ...moreFolders];
	return names.flatMap((program) => findPrograms(testMachine, program, folders))[0];
}

/** @returns its path @throws Error if it is not installed */
export function pathOf(name: ProgramName): string {
	const path = findOptional(name);
	if (path === undefined) throw new Error(String(whyMissing(name)));
	return path;
}

/** @returns reason to skip a test that needs these programs, or false */
export function whyMissing(...names: readonly ProgramName[]): string | false {
	const name = names.find((program) => findOptional(program) === undefined);
	if (name === undefined) return false;
	return `${name} is not installed: apt-get install ${programs[name].package}, or set ${variableOf(name)} to its path`;
}

/** Result of a function, or the reason why it failed, to skip tests. */
type Tools<T> =
	| (T & { readonly reason?: never })
	| ({ readonly [N in keyof T]?: never } & { reason: string });

function orReason<T extends object>(find: () => T): Tools<T> {
	try {
		return find();
	} catch (error) {
		return { reason: messageOf(error) };
	}
}

function findTools(): { readonly sdk: ModdableSdk } {
	findProject(testMachine);
	return { sdk: findSdk(testMachine) };
}

function findBoardTools(): { readonly sdk: ModdableSdk } {
	const tools = findTools();
	findIdf(testMachine);
	return tools;
}

/** Moddable SDK, or the reason to skip tests that need it. */
export const sdkOrReason = () => orReason(findTools);
/** Tools to build the boards' firmware, or the reason to skip tests that need them. */
export const boardToolsOrReason = () => orReason(findBoardTools);
/** These tools and QEMU to run the firmware, or the reason to skip tests that need them. */
export const qemuOrReason = () => orReason(() => ({ ...findBoardTools(), qemu: findQemu(testMachine) }));

function variableOf(name: ProgramName): string {
	return name.toUpperCase().replace(/\W/g, "_");
}
