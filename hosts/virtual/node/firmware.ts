/** Builds the firmware of device/ and the modules of the virtual host as one program. */

import { buildProgram, modulesOf, type Program } from "./build.js";

/** Host modules that the firmware imports by a name of the SDK. */
const sdkNames: Readonly<Record<string, string>> = {
	timer: "timer",
	time: "time",
	resource: "Resource",
};
/** Drivers of the boards that run here unchanged. */
const boardModules: Readonly<Record<string, string>> = { "board/es8311": "hosts/esp32/es8311.ts" };

/**
 * @param replacements module name → another TypeScript file for it, relative to the project: a firmware with a fault
 * @throws Error where a module cannot be built, with its place, or a replacement has the name of no module
 */
export async function buildFirmware(replacements: Readonly<Record<string, string>> = {}): Promise<Program> {
	const modules: Record<string, string> = { ...(await modulesOf("device")), ...boardModules };
	for (const [name, file] of Object.entries(await modulesOf("hosts/virtual/modules")))
		modules[sdkNames[name] ?? `virtual/${name}`] = file;
	for (const name of Object.keys(replacements))
		if (!(name in modules)) throw new Error(`the firmware has no module "${name}" to replace`);
	return buildProgram({ modules: { ...modules, ...replacements }, main: "virtual/boot" });
}
