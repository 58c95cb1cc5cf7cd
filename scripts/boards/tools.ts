/** Finds ESP-IDF, and the serial port of the board. */

import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";

/** @returns a sentence that says what to do; undefined where ESP-IDF is ready */
export function missingIdf(environment: NodeJS.ProcessEnv): string | undefined {
	const { IDF_PATH: folder, PATH = "" } = environment;
	const install = "npx xs-dev setup --device esp32, and open a new terminal";
	if (!folder) return `IDF_PATH is not set: ESP-IDF v6.0 compiles for the board. Install it: ${install}.`;
	if (!existsSync(join(folder, "tools", "idf.py")))
		return `IDF_PATH is ${folder}, but there is no ESP-IDF. Set it to the folder of ESP-IDF v6.0, or install that: ${install}.`;
	const isOnPath = PATH.split(delimiter).some((one) => one !== "" && existsSync(join(one, "idf.py")));
	if (!isOnPath)
		return `idf.py is not on the PATH: in this terminal, run . ${join(folder, "export.sh")} first.`;
	return undefined;
}

/** USB serial ports on Linux and macOS: the chip's own, and common converters. */
const portName = /^(ttyACM|ttyUSB|cu\.usbmodem|cu\.usbserial|cu\.wchusbserial|cu\.SLAB_USBtoUART)/;

export function findPorts(folder = "/dev"): readonly string[] {
	try {
		return readdirSync(folder)
			.filter((name) => portName.test(name))
			.sort()
			.map((name) => join(folder, name));
	} catch {
		return [];
	}
}

/** @param given from the command line; without it, the only port found. @returns the port, or a sentence that says what to do */
export function choosePort(
	given: string | undefined,
	ports: readonly string[],
): { readonly port: string } | { readonly problem: string } {
	// On Windows ports such as COM3 are not files.
	if (given && process.platform === "win32") return { port: given };
	if (given && !existsSync(given))
		return { problem: `There is no serial port ${given}. Is the board connected by USB?` };
	const [first, ...others] = given ? [given] : ports;
	if (!first) return { problem: "No board was found: connect it by USB, or give its serial port: port=…." };
	if (others.length > 0)
		return { problem: `There are several serial ports; choose one: port=${ports.join(" or port=")}.` };
	try {
		accessSync(first, constants.R_OK | constants.W_OK);
	} catch {
		return {
			problem: `You have no permission to open ${first}: add yourself to its group (often dialout), and log in again.`,
		};
	}
	return { port: first };
}
