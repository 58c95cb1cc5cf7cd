/** Accessibility checks of the current view: axe-core, narrow windows and large text. */

import assert from "node:assert/strict";
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
		const asked = JSON.stringify({ ...options, resultTypes: ["violations"] });
		const { violations: found }: AxeResults = await page.evaluate(`axe.run(${asked})`);
		for (const { id, impact, nodes } of found)
			if (impact !== "minor")
				all.push(`${colorScheme}, ${impact} ${id}: ${nodes.map(({ html }) => html).join("\n")}`);
	}
	return all;
}

/** Elements that are wider than the window, or cut off their text; not those that scroll or end in an ellipsis on purpose. */
function misfits(page: Page): Promise<readonly string[]> {
	return page.evaluate(`(async () => {
		const styleOf = (node) => getComputedStyle(node);
		const ancestors = (node) => node ? [node, ...ancestors(node.parentElement)] : [];
		const isApart = (node) => !node.checkVisibility() || ancestors(node).some((ancestor) =>
			/auto|scroll/.test(styleOf(ancestor).overflowX) || styleOf(ancestor).clipPath !== "none");
		const isWide = (node) => node.getBoundingClientRect().right > innerWidth + 0.5 &&
			!ancestors(node.parentElement).some((ancestor) => /hidden|clip/.test(styleOf(ancestor).overflowX));
		const hasText = (node) => [...node.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== "");
		const isCut = (node) => hasText(node) && styleOf(node).overflowX === "hidden" && styleOf(node).textOverflow !== "ellipsis" &&
			node.scrollWidth > node.clientWidth + 1;
		const find = () => [...document.querySelectorAll("body *")]
			.filter((node) => (isWide(node) || isCut(node)) && !isApart(node))
			.map((node) => node.outerHTML.slice(0, 120))
			.concat(document.documentElement.scrollWidth > innerWidth ? ["the document"] : []);
		for (let frame = 0; frame < 60 && find().length > 0; frame++) await new Promise(requestAnimationFrame);
		return find();
	})()`);
}

/**
 * Checks the current view: no violations in both themes, and nothing overflows in a window of 320 pixels, in one of 1920, and
 * with text of twice the browser's default size on a phone and a desktop.
 */
export async function checkView(page: Page): Promise<void> {
	assert.deepEqual(await violations(page), []);
	const size = page.viewportSize();
	const session = await page.context().newCDPSession(page);
	const setText = (standard: number) => session.send("Page.setFontSizes", { fontSizes: { standard } });
	try {
		for (const [width, textSize] of [
			[320, 16],
			[1920, 16],
			[390, 32],
			[1280, 32],
		] as const) {
			await page.setViewportSize({ width, height: 844 });
			await setText(textSize);
			assert.equal(
				await page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)"),
				textSize,
			);
			assert.deepEqual(await misfits(page), [], `${width} pixels, text of ${textSize}`);
			if (width === 320) assert.deepEqual(await violations(page), [], `${width} pixels`);
		}
	} finally {
		await setText(16);
		await session.detach();
		if (size) await page.setViewportSize(size);
	}
}
