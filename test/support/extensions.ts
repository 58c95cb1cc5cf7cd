import { existsSync } from "node:fs";

/** Options of a test that requires these extensions. */
export function needs(...names: readonly string[]) {
	const missing = names.find((name) => !existsSync(`gateway/${name}`));
	return { skip: missing === undefined ? false : `${missing}/ was removed` };
}
