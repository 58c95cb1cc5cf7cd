/** Finds what flashing a board needs besides the Moddable SDK: ESP-IDF, and the port that the board is connected to. */

import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";

/** @returns a sentence that says what to do; undefined where ESP-IDF is ready to be used */
export function missingIdf(environment: NodeJS.ProcessEnv): string | undefined {
	const { IDF_PATH: folder, PATH = "" } = environment;
	const install = "npx xs-dev setup --device esp32, and open a new terminal";
	if (!folder) return `IDF_PATH is not set: ESP-IDF v6.0 compiles for the board. Install it: ${install}.`;
	if (!existsSync(join(folder, "tools", "idf.py")))
		return `IDF_PATH is ${folder}, but there is no ESP-IDF. Set it to ESP-IDF v6.0's folder, or install that: ${install}.`;
	const isOnPath = PATH.split(delimiter).some((one) => one !== "" && existsSync(join(one, "idf.py")));
	if (!isOnPath)
		return `idf.py is not on the PATH: in this terminal type . ${join(folder, "export.sh")} first.`;
	return undefined;
}

/** Names under /dev of USB serial ports, on Linux and on macOS: the chip's own and the usual converters'. */
const portName = /^(ttyACM|ttyUSB|cu\.usbmodem|cu\.usbserial|cu\.wchusbserial|cu\.SLAB_USBtoUART)/;

/** @param folder where ports are, for tests */
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

/**
 * @param given a port that a person named; where none is, the only one that is there is taken
 * @returns the port, or a sentence that says what to do
 */
export function choosePort(
	given: string | undefined,
	ports: readonly string[],
): { readonly port: string } | { readonly problem: string } {
	// Windows names its ports (COM3), but has no files of them.
	if (given && process.platform === "win32") return { port: given };
	if (given && !existsSync(given))
		return { problem: `There is no serial port ${given}. Is the board connected by USB?` };
	const [first, ...others] = given ? [given] : ports;
	if (!first) return { problem: "No board was found: connect it by USB, or name its serial port: port=…." };
	if (others.length > 0)
		return { problem: `There are several serial ports, say which: port=${ports.join(" or port=")}.` };
	try {
		accessSync(first, constants.R_OK | constants.W_OK);
	} catch {
		return {
			problem: `${first} may not be opened: add yourself to its group (often dialout), and log in again.`,
		};
	}
	return { port: first };
}
