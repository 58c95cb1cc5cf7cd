/**
 * Renders the masks of the simulator's panel with Chromium: `node --import tsx scripts/assets/panel-sprites.ts` makes
 * hosts/simulator/panels/parts/sprites.png of panel-sprites.svg.
 */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { launchChromium } from "../../test/support/chromium.js";

const path = fileURLToPath(new URL("../../hosts/simulator/panels/parts/sprites.png", import.meta.url));
const drawing = await readFile(new URL("panel-sprites.svg", import.meta.url), "utf8");
const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 176, height: 112 } });
await page.setContent(`<style>body { margin: 0 }</style>${drawing}`);
await page.screenshot({ path, omitBackground: true });
await browser.close();
