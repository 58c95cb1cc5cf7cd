/** Entry points of the project, run as separate processes. */

import { isAbsolute } from "node:path";
import { compiledPath } from "../../scripts/test/compile.js";

/** `npm test` compiles all programs before it runs tests. */
const isCompiled = process.argv[1]?.endsWith(".js");

/** @param source path such as `scripts/token.ts`; absolute outside of the project @returns arguments of node that run it */
export function entryPoint(source: string): readonly string[] {
	return isCompiled && !isAbsolute(source)
		? ["--enable-source-maps", compiledPath(source)]
		: ["--import", "tsx", source];
}
