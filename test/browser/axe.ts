/** Accessibility checks with axe-core, and layout checks. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Options of `axe.run`; the two schemes differ in colors alone. */
const runs = [
	["light", {}],
	["dark", { runOnly: ["color-contrast", "link-in-text-block"] }],
] as const;

/** Violations above minor in both color schemes. */
export async function violations(page: Page): Promise<readonly string[]> {
	if (!(await page.evaluate("'axe' in window"))) await page.evaluate(await readFile(axePath, "utf8"));
	const all: string[] = [];
	for (const [colorScheme, options] of runs) {
		await page.emulateMedia({ colorScheme });
		// The other result types take most of the time.
		const given = JSON.stringify({ ...options, resultTypes: ["violations"] });
		const { violations: found }: AxeResults = await page.evaluate(`axe.run(${given})`);
		for (const { id, impact, nodes } of found)
			if (impact !== "minor")
				all.push(`${colorScheme}, ${impact} ${id}: ${nodes.map(({ html }) => html).join("\n")}`);
	}
	return all;
}

/** @param width of the window, in CSS pixels @returns elements that overflow, as HTML; scroll containers are allowed */
export function widerThan(page: Page, width: number): Promise<readonly string[]> {
	return page.evaluate(`[...document.querySelectorAll("main *, header *")]
		.filter((node) => node.getBoundingClientRect().right > ${width} + 0.5)
		.filter((node) => !node.closest(".lines, .tabs, .tallies, .visually-hidden, .grid .facts"))
		.map((node) => node.outerHTML.slice(0, 120))
		.concat(document.documentElement.scrollWidth > ${width} ? ["the document"] : [])`);
}
