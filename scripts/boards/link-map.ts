/**
 * Compares the linked objects with the C sources of the manifests. The linker includes a file of the SDK's archive only for a symbol
 * that another file uses, and silently omits a file with only static symbols.
 */

import { relative, sep } from "node:path";
import { projectFolder } from "../command-line/project.js";

/** Rule of mcconfig's makefile: object name and source. */
const objectRule = /^\$\(TMP_DIR\)\/(\S+\.o): (\S+)/gm;
const memoryMap = "\nLinker script and memory map\n";
/** Section with bytes in the image. Debug information begins at address 0, and omitted sections are at 0. */
const placedSection = /\s0x0*[1-9a-f][0-9a-f]{7}\s+0x0*[1-9a-f][0-9a-f]*\s+\S*\(([^()\s]+\.o)\)/g;

/**
 * @param makefile makefile of mcconfig with all sources of the build
 * @param map link map of GNU ld
 * @returns sources of this project that are missing in the image, relative to the project
 * @throws Error if either contains no C sources
 */
export function findUnlinkedSources(makefile: string, map: string): readonly string[] {
	const own = [...makefile.matchAll(objectRule)].flatMap(([, object = "", source = ""]) =>
		source.startsWith(projectFolder + sep) ? [{ object, file: relative(projectFolder, source) }] : [],
	);
	const placed = map.slice(map.indexOf(memoryMap) + 1).matchAll(placedSection);
	const linked = new Set(Array.from(placed, ([, object]) => object));
	if (own.length === 0 || linked.size === 0)
		throw new Error("Makefile and link map cannot be compared: one of them contains no C sources.");
	return own.filter(({ object }) => !linked.has(object)).map(({ file }) => file);
}
