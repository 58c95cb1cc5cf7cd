/** A person tries the demo: operates its boards on the page, listens to them, and builds a release. */

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { skip } from "../support/chromium.js";
import { runDemo } from "../support/demo.js";
import { eventually, waitUntil } from "../support/eventually.js";
import { temporaryDirectory } from "../support/running.js";
import { checkView } from "./axe.js";
import { browsing, disclose, sees } from "./browsing.js";

const open = browsing();

/** Records what the page plays, and its peak level. */
async function listenIn(context: BrowserContext): Promise<void> {
	await context.addInitScript(`
		window.played = [];
		window.loudest = 0;
		const { start } = AudioBufferSourceNode.prototype;
		AudioBufferSourceNode.prototype.start = function (...times) {
			const { sampleRate } = this.buffer;
			played.push({ sampleRate, samples: [...this.buffer.getChannelData(0)] });
			return start.apply(this, times);
		};
		const { connect } = AudioNode.prototype;
		AudioNode.prototype.connect = function (to, ...rest) {
			if (to instanceof AudioDestinationNode) {
				const tap = new AnalyserNode(this.context, { fftSize: 32768 });
				const latest = new Float32Array(tap.fftSize);
				connect.call(this, tap);
				setInterval(() => {
					tap.getFloatTimeDomainData(latest);
					window.loudest = latest.reduce((most, sample) => Math.max(most, Math.abs(sample)), loudest);
				}, 50);
			}
			return connect.call(this, to, ...rest);
		};
	`);
}

interface Played {
	readonly sampleRate: number;
	readonly samples: readonly number[];
}

/** Samples of the WAV resource in the firmware. */
function chimeSamples(name: string): readonly number[] {
	const bytes = readFileSync(`device/chimes/${name}.wav`).subarray(44);
	return Array.from({ length: bytes.length / 2 }, (_, index) => bytes.readInt16LE(index * 2) / 32_768);
}

const boardOf = (page: Page) => page.getByRole("region", { name: "Board" });
const button = (board: Locator, name: string) => board.getByRole("button", { name, exact: true });
/** Buttons and sensors as the device reports them. */
const reported = (page: Page, text: string) =>
	page
		.getByRole("region", { name: "Buttons and sensors" })
		.getByText(text)
		.first()
		.waitFor({ state: "attached" });

test("the demo", { skip }, async (t) => {
	const folder = await temporaryDirectory(t);
	const demo = await runDemo(t, folder);
	const { url, proto } = demo;
	const view = `#/devices/${proto}/diagnostics`;
	const expected = /422|ERR_|status of 404/;
	const page = await open(t, url, { view, prepare: listenIn, expected });
	const board = boardOf(page);
	const overview = page.getByRole("region", { name: "Overview" });
	const volume = overview.getByRole("slider", { name: "Volume" });
	const volumeIs = (value: string) =>
		eventually(
			() => volume.inputValue(),
			(shown) => shown === value,
		);

	await t.test("shows the colors that the board's LEDs receive", async () => {
		const fills = board.getByRole("img", { name: "LEDs" }).locator("circle");
		const shown = () => fills.evaluateAll((leds) => leds.map((led) => led.getAttribute("style")));
		await eventually(shown, (colors) => new Set(colors).size === 12 && colors.length === 12);
	});

	await t.test("operates buttons, sensors and Wi-Fi of a board", async () => {
		await button(board, "Volume +").hover();
		await page.mouse.down();
		await reported(page, "Volume + pressed");
		await volumeIs("55");
		await page.mouse.up();
		await reported(page, "Volume + not pressed");
		await button(board, "Volume −").focus();
		await page.keyboard.down("Space");
		await reported(page, "Volume − pressed");
		await page.keyboard.up("Space");
		await reported(page, "Volume − not pressed");
		await volumeIs("50");
		await button(board, "Volume −").dispatchEvent("click");
		await volumeIs("45");
		await board.getByLabel("Ambient light").fill("4000");
		await reported(page, "4000");
		await board.getByLabel("Wi-Fi in range").click();
		await sees(overview, /^Offline/);
		assert.equal(await board.getByLabel("Wi-Fi signal").isDisabled(), true);
		await board.getByLabel("Wi-Fi in range").click();
		await volume.and(page.locator(":enabled")).waitFor();
		await checkView(page);
	});

	await t.test("plays the firmware's samples at the codec's volume, once the person listens", async () => {
		const play = async () => {
			await page.evaluate("loudest = 0");
			await disclose(overview, "More");
			await overview.getByRole("button", { name: "Play “Start-up”" }).click();
		};
		await play();
		await board.getByText(/^Playing/).waitFor();
		await board.getByText("Silent").waitFor();
		assert.deepEqual(await page.evaluate("played"), [], "browsers want a click before a page makes a sound");
		await button(board, "Listen in this browser").click();
		const chime = chimeSamples("startup");
		const peak = Math.max(...chime.map(Math.abs));
		for (const [value, decibels] of [
			["50", -25],
			["80", -10],
		] as const) {
			await volume.fill(value);
			await volumeIs(value);
			await overview.getByText("sending").waitFor({ state: "detached" });
			await play();
			const expectedPeak = peak * 10 ** (decibels / 20);
			const readLoudest = async () => Number(await page.evaluate("loudest"));
			await eventually(readLoudest, (loudest) => Math.abs(loudest / expectedPeak - 1) < 0.15);
			await board.getByText("Silent").waitFor();
		}
		const [played]: Played[] = await page.evaluate("played");
		assert.equal(played?.sampleRate, 16_000);
		assert.deepEqual(played?.samples.slice(0, chime.length), chime);
	});

	await t.test("is shared; a held button is released when its browser disconnects", async (t) => {
		const [first, second] = [await open(t, url, { view }), await open(t, url, { view })];
		await button(boardOf(first), "Mute").hover();
		await first.mouse.down();
		await boardOf(second).getByRole("button", { name: "Mute", pressed: true }).waitFor();
		await first.close();
		await boardOf(second).getByRole("button", { name: "Mute", pressed: false }).waitFor();
		await reported(second, "Mute not pressed");
	});

	await t.test("builds and installs a release in one click, and tells why it cannot", async () => {
		await button(board, "Build and install 1.1.0").click();
		await board.getByText("Updated to 1.1.0").waitFor();
		await page.getByRole("region", { name: "Details" }).getByText("1.1.0", { exact: true }).waitFor();
		const catalog = join(folder, "releases", "catalog.json");
		const content = readFileSync(catalog);
		await writeFile(catalog, "{");
		await button(board, "Build and install 1.2.0").click();
		await board.getByText(/^Building the release failed: Invalid catalog/).waitFor();
		await checkView(page);
		await writeFile(catalog, content);
	});

	await t.test("cuts the power of a board, and reappears after it was killed and restarted", async () => {
		await button(board, "Listen in this browser").click();
		const restarts = page.getByRole("region", { name: "History" }).getByText("Restart: power on");
		const before = await restarts.count();
		await board.getByRole("button", { name: /^Cut power/ }).click();
		await restarts.nth(before).waitFor();
		await waitUntil(() => existsSync(join(folder, "devices", `${proto}.json`)));
		demo.command.process.kill("SIGKILL");
		await demo.command.processesGone();
		await board.getByText("off while the demo is unreachable").waitFor();
		assert.equal(await button(board, "Play").isDisabled(), true);
		const again = await runDemo(t, folder, { PORT: new URL(url).port });
		await board.getByText("operated on this page").waitFor();
		await button(board, "Mute").hover();
		await page.mouse.down();
		await reported(page, "Mute pressed");
		await page.mouse.up();
		again.command.process.kill("SIGINT");
		assert.equal(await again.command.exitCode, 0, again.command.output());
	});
});
