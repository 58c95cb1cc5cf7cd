/** The firmware of device/ as a program for the machine, together with the modules that the virtual host supplies to it. */

import { buildProgram, modulesOf, type Program } from "./build.js";

/** Host modules that the firmware knows by a name of the SDK's. */
const sdkNames: Readonly<Record<string, string>> = {
	timer: "timer",
	time: "time",
	resource: "Resource",
};
/** Drivers of the boards that run here as they are. */
const boardModules: Readonly<Record<string, string>> = { "board/es8311": "hosts/esp32/es8311.ts" };
/** Supplied by the machine itself. */
const machineModules = ["config"];

/**
 * @param replacements module name → another TypeScript file for it, relative to the project: a firmware with a fault
 * @throws Error where a module cannot be built, with its place
 */
export async function buildFirmware(replacements: Readonly<Record<string, string>> = {}): Promise<Program> {
	const modules: Record<string, string> = { ...(await modulesOf("device")), ...boardModules };
	for (const [name, file] of Object.entries(await modulesOf("hosts/virtual/modules")))
		if (!machineModules.includes(name)) modules[sdkNames[name] ?? `virtual/${name}`] = file;
	return buildProgram({ modules: { ...modules, ...replacements }, main: "virtual/boot" });
}
