import { buildProgram, modulesOf, type Program } from "./build.js";

/** Modules imported by the SDK's names. */
const sdkNames: Readonly<Record<string, string>> = {
	config: "mc/config",
	timer: "timer",
	time: "time",
	resource: "Resource",
};
/** Modules of other hosts. */
const boardModules: Readonly<Record<string, string>> = {
	"board/es8311": "hosts/esp32/es8311.ts",
	"moddable/silent-output": "hosts/moddable/silent-output.ts",
};

/**
 * Builds a program from device/ and the host's modules.
 *
 * @param replacements module name → TypeScript file to use instead, relative to the project, e.g. to inject a fault
 * @throws Error if a module cannot be built, or a replaced module does not exist
 */
export async function buildFirmware(
	replacements: Readonly<Record<string, string | undefined>> = {},
): Promise<Program> {
	const modules = await firmwareModules();
	for (const [name, file] of Object.entries(replacements)) {
		if (!(name in modules)) throw new Error(`the firmware has no module "${name}" to replace`);
		if (file === undefined) delete modules[name];
		else modules[name] = file;
	}
	return buildProgram({ modules, main: "virtual/boot" });
}

/** Lists the modules of device/ and of the host: module name → TypeScript file, relative to the project. */
export async function firmwareModules(): Promise<Record<string, string>> {
	const modules: Record<string, string> = { ...(await modulesOf("device")), ...boardModules };
	for (const [name, file] of Object.entries(await modulesOf("hosts/virtual/modules")))
		modules[sdkNames[name] ?? `virtual/${name}`] = file;
	return modules;
}
