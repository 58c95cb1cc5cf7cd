/**
 * Compares what was linked with the C sources of the manifests. The linker takes a file from the SDK's archive only for a symbol
 * that another file needs: one that has only static symbols is compiled and left out, without a warning.
 */

import { relative, sep } from "node:path";
import { projectFolder } from "../command-line/project.js";

/** A rule of mcconfig's makefile: the object's name and its source. */
const objectRule = /^\$\(TMP_DIR\)\/(\S+\.o): (\S+)/gm;
const memoryMap = "\nLinker script and memory map\n";
/** A section with bytes in the image. Debug information begins at address 0, and what was left out is at 0. */
const placedSection = /\s0x0*[1-9a-f][0-9a-f]{7}\s+0x0*[1-9a-f][0-9a-f]*\s+\S*\(([^()\s]+\.o)\)/g;

/**
 * @param makefile of mcconfig, with all sources of the build
 * @param map of GNU ld
 * @returns this project's sources of which the image has nothing, relative to the project
 * @throws Error where either names none
 */
export function findUnlinkedSources(makefile: string, map: string): readonly string[] {
	const own = [...makefile.matchAll(objectRule)].flatMap(([, object = "", source = ""]) =>
		source.startsWith(projectFolder + sep) ? [{ object, file: relative(projectFolder, source) }] : [],
	);
	const placed = map.slice(map.indexOf(memoryMap) + 1).matchAll(placedSection);
	const linked = new Set(Array.from(placed, ([, object]) => object));
	if (own.length === 0 || linked.size === 0)
		throw new Error("the build's makefile and link map cannot be compared: one of them names no C source");
	return own.filter(({ object }) => !linked.has(object)).map(({ file }) => file);
}
