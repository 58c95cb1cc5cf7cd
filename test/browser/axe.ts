/** What is wrong with a page for those who do not use it with a mouse on a large screen. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** All that axe finds above minor. */
export async function violations(page: Page): Promise<readonly string[]> {
	await page.evaluate(await readFile(axePath, "utf8"));
	const { violations: found }: AxeResults = await page.evaluate("axe.run()");
	return found
		.filter(({ impact }) => impact !== "minor")
		.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join("\n")}`);
}

/** @param width of the window, in CSS pixels @returns elements that do not fit, as HTML; some scroll by themselves */
export function widerThan(page: Page, width: number): Promise<readonly string[]> {
	return page.evaluate(`[...document.querySelectorAll("main *, header *")]
		.filter((node) => node.getBoundingClientRect().right > ${width} + 0.5)
		.filter((node) => !node.closest(".lines, .tabs, .tallies, .visually-hidden, .grid .facts"))
		.map((node) => node.outerHTML.slice(0, 120))
		.concat(document.documentElement.scrollWidth > ${width} ? ["the document"] : [])`);
}
