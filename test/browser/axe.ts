/** axe in a page: what it finds that is more than minor. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** @returns a text for each, with the elements */
export async function violations(page: Page): Promise<readonly string[]> {
	await page.evaluate(await readFile(axePath, "utf8"));
	const { violations: found }: AxeResults = await page.evaluate("axe.run()");
	return found
		.filter(({ impact }) => impact !== "minor")
		.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join("\n")}`);
}
