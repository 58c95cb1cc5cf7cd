import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { BrowserContext, Locator, Page } from "playwright-core";
import { chimePath } from "../../scripts/assets/chimes.js";
import { skip } from "../support/chromium.js";
import { type Demo, runDemo } from "../support/demo.js";
import { eventually, waitUntil } from "../support/eventually.js";
import { runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { wav } from "../support/sounds.js";
import { violations, widerThan } from "./axe.js";
import { browsing, type OpenOptions } from "./browsing.js";

const open = browsing();

/** Opens the board page of a demo's PROTO-1. */
async function openBoard(
	t: TestContext,
	{ url, proto }: Demo,
	options: OpenOptions = {},
): Promise<{ readonly page: Page; readonly board: Locator }> {
	const page = await open(t, url, { view: `#/devices/${proto}/diagnostics`, ...options });
	const board = page.getByRole("region", { name: "Board" });
	await board.getByRole("button", { name: /^Build and install 1\./ }).waitFor();
	return { page, board };
}

async function startDemo(t: TestContext, env?: Readonly<Record<string, string>>): Promise<Demo> {
	return runDemo(t, await temporaryDirectory(t), env);
}

/** Buttons and sensors as the device reports them. */
function reported(page: Page, text: string): Promise<void> {
	return page
		.getByRole("region", { name: "Buttons and sensors" })
		.getByText(text)
		.first()
		.waitFor({ state: "attached" });
}

function button(board: Locator, name: string): Locator {
	return board.getByRole("button", { name, exact: true });
}

/** Records what the page plays and its peak level. */
async function listenIn(context: BrowserContext): Promise<void> {
	await context.addInitScript(`
		window.played = [];
		/** Peak of the last 0.7 s, and since the last reset to 0. */
		window.latest = 0;
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
					window.latest = latest.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
					window.loudest = Math.max(loudest, window.latest);
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
	const wav = readFileSync(chimePath(name)).subarray(44);
	return Array.from({ length: wav.length / 2 }, (_, index) => wav.readInt16LE(index * 2) / 32_768);
}

describe("the board of a demo's device", { skip }, () => {
	test("is operated from its page: buttons, pad, light and Wi-Fi", async (t) => {
		const { page, board } = await openBoard(t, await startDemo(t));
		await button(board, "Volume +").hover();
		await page.mouse.down();
		await reported(page, "Volume + pressed");
		await page.locator(".hero .value").getByText("55").waitFor();
		await page.mouse.up();
		await reported(page, "Volume + not pressed");

		await button(board, "Volume −").focus();
		await page.keyboard.down("Space");
		await reported(page, "Volume − pressed");
		await page.keyboard.up("Space");
		await page.locator(".hero .value").getByText("50").waitFor();
		// Assistive technology clicks without pointer or key events.
		await button(board, "Volume −").dispatchEvent("click");
		await page.locator(".hero .value").getByText("45").waitFor();
		await reported(page, "Volume − not pressed");

		await button(board, "Touch").hover();
		await page.mouse.down();
		await reported(page, "Touch touched");
		await page.mouse.up();
		await reported(page, "Touch not touched");

		await board.getByLabel("Ambient light").fill("4000");
		await reported(page, "4000");
		await board.getByLabel("Wi-Fi signal").fill("-83");
		await page.getByRole("region", { name: "Details" }).getByText("−83 dBm").waitFor();
		await board.getByLabel("Wi-Fi in range").click();
		await page.getByText(/^Away/).waitFor();
		assert.equal(await board.getByLabel("Wi-Fi signal").isDisabled(), true);
		await board.getByLabel("Wi-Fi in range").click();
		await page.getByText(/^Connected/).waitFor();
		await page.getByRole("region", { name: "Details" }).getByText("−83 dBm").waitFor();
	});

	test("can be power-cycled", async (t) => {
		const { page, board } = await openBoard(t, await startDemo(t));
		const restarts = page.getByRole("region", { name: "History" }).getByText("Restart: power on");
		// Uptime is in whole seconds: a restart within the first second is not detected.
		await page
			.getByRole("region", { name: "Details" })
			.getByText(/^([2-9]|\d\d) s$/)
			.waitFor();
		await board.getByRole("button", { name: /^Cut power/ }).click();
		await restarts.nth(1).waitFor();
		await page.getByText(/^Connected/).waitFor();
	});

	test("is shared by two browsers, and releases a held button when its browser disconnects", async (t) => {
		const demo = await startDemo(t);
		const [first, second] = [await openBoard(t, demo), await openBoard(t, demo)];
		await button(first.board, "Mute").hover();
		await first.page.mouse.down();
		await second.board.getByRole("button", { name: "Mute", pressed: true }).waitFor();
		await first.board.getByLabel("Ambient light").fill("77");
		await second.board.getByText("77", { exact: true }).waitFor();
		// The page sends no release; the demo detects the closed connection.
		await second.page.goto("about:blank");
		await first.page.close();
		const third = await openBoard(t, demo);
		await third.board.getByRole("button", { name: "Mute", pressed: false }).waitFor();
		await reported(third.page, "Mute not pressed");
	});

	test("reappears after the demo was killed and restarted", async (t) => {
		const folder = await temporaryDirectory(t);
		const demo = await runDemo(t, folder);
		const { page, board } = await openBoard(t, demo);
		await button(board, "Mute").hover();
		await page.mouse.down();
		await reported(page, "Mute pressed");
		// Otherwise the page would request the history of a device unknown to the new gateway.
		const record = join(folder, "devices", `${demo.proto}.json`);
		await waitUntil(() => existsSync(record));
		demo.command.process.kill("SIGKILL");
		await demo.command.processesGone();
		await board.getByText("off while the demo is unreachable").waitFor();
		for (const control of [button(board, "Play"), board.getByLabel("Ambient light")])
			assert.equal(await control.isDisabled(), true);
		await page.mouse.up();
		const again = await runDemo(t, folder, { PORT: new URL(demo.url).port });
		assert.equal(again.proto, demo.proto);
		await board.getByText("operated on this page").waitFor();
		await page.getByText(/^Connected/).waitFor();
		await page.mouse.down();
		await reported(page, "Mute pressed");
		await page.mouse.up();
		await reported(page, "Mute not pressed");
		again.command.process.kill("SIGINT");
		assert.equal(await again.command.exitCode, 0, again.command.output());
	});

	test("has no axe violations while it plays", async (t) => {
		const { page, board } = await openBoard(t, await startDemo(t));
		await page.locator(".facts-panel").waitFor();
		await board.getByRole("button", { name: "Listen in this browser" }).click();
		await button(board, "Play").hover();
		const playing = board.getByText("Playing at volume 50").waitFor();
		await page.mouse.down();
		await playing;
		assert.deepEqual(await violations(page), []);
		await page.mouse.up();
		await board.getByRole("button", { name: /^Build and install/ }).click();
		await board.getByText("Updated to 1.1.0").waitFor();
		assert.deepEqual(await violations(page), []);
	});

	test("fits a window of 320 pixels", async (t) => {
		const viewport = { width: 320, height: 740 };
		const { page } = await openBoard(t, await startDemo(t), { viewport, hasTouch: true });
		await page.locator(".facts-panel").waitFor();
		assert.deepEqual(await widerThan(page, 320), []);
	});
});

describe("the speaker of a demo's device", { skip }, () => {
	test("plays the firmware's samples in the browser at the codec's volume", async (t) => {
		const { page, board } = await openBoard(t, await startDemo(t), { prepare: listenIn });
		const head = page.getByRole("region", { name: "Overview" });
		const isSeenPlaying = async (expected: string) => {
			const playing = board.getByText(expected).waitFor({ timeout: 10_000 });
			await head.locator("summary", { hasText: "More" }).click();
			await head.getByRole("button", { name: "Play “Start-up”" }).click();
			return playing.then(
				() => true,
				() => false,
			);
		};
		const playOnce = async (expected: string) => {
			// It lasts a second, which a busy browser may not paint.
			let attempts = 1;
			while (!(await isSeenPlaying(expected))) assert.ok(++attempts <= 5, `"${expected}" was never shown`);
			await board.getByText("Silent").waitFor();
			await eventually(
				async () => Number(await page.evaluate("latest")),
				(loudness) => loudness <= 1e-6,
			);
			const loudest: number = await page.evaluate("loudest");
			await page.evaluate("loudest = 0");
			return loudest;
		};
		assert.equal(await playOnce("Playing at volume 50"), 0);
		assert.deepEqual(await page.evaluate("played"), [], "browsers want a click before a page makes a sound");

		await board.getByRole("button", { name: "Listen in this browser", pressed: false }).click();
		const at50 = await playOnce("Playing at volume 50");
		const [played]: Played[] = await page.evaluate("played");
		const chime = chimeSamples("startup");
		assert.equal(played?.sampleRate, 16_000);
		assert.deepEqual(played?.samples.slice(0, chime.length), chime);
		const peak = Math.max(...chime.map(Math.abs));
		assertNear(at50, peak * 10 ** (-25 / 20));

		await head.getByLabel("Volume", { exact: true }).fill("80");
		await page.locator(".hero .value").getByText("80").waitFor();
		assertNear(await playOnce("Playing at volume 80"), peak * 10 ** (-10 / 20));

		const mute = async (shown: string) => {
			const value = page.locator(".hero .value").getByText(shown, { exact: true });
			const isShown = async () => {
				// On a busy machine it may be released before the device has polled it.
				await button(board, "Mute").click();
				return value.waitFor({ timeout: 10_000 }).then(
					() => true,
					() => false,
				);
			};
			let attempts = 1;
			while (!(await isShown())) assert.ok(++attempts <= 5, `the volume ${shown} was never shown`);
		};
		await mute("0");
		const muted = await playOnce("Playing at volume 0");
		assert.ok(muted < 0.001, `loudest sample of ${muted}`);

		await mute("80");
		await board.getByRole("button", { name: "Listen in this browser", pressed: true }).click();
		const count = await page.evaluate("played.length");
		await playOnce("Playing at volume 80");
		assert.equal(await page.evaluate("played.length"), count, "it is off again");
	});
});

describe("an announcement in the demo", { skip }, () => {
	test("plays in the browser as on each of its devices", async (t) => {
		const { url } = await startDemo(t);
		const page = await open(t, url, { view: "#/announce", prepare: listenIn });
		const speakers = page.getByRole("region", { name: "Speakers" });
		await speakers.getByRole("button", { name: "Listen in this browser", pressed: false }).click();
		await page.getByRole("button", { name: "File", exact: true }).click();
		const tone = wav(
			Buffer.from(Int16Array.from({ length: 16_000 }, (_, at) => 9_000 * Math.sin(at / 5)).buffer),
		);
		await page
			.getByLabel(/choose one/)
			.setInputFiles({ name: "tone.wav", mimeType: "audio/wav", buffer: tone });
		await page.getByRole("button", { name: "Announce on 2 devices" }).click();
		await page.getByText("2 played").waitFor();
		const played: Played[] = await page.evaluate("played");
		const length = played.reduce((sum, { samples }) => sum + samples.length, 0);
		assert.ok(length >= 2 * 16_000, `${length} samples of two devices`);
		const loudest = Number(await page.evaluate("loudest"));
		assert.ok(loudest > 0.001, `loudest sample of ${loudest}`);
		assert.deepEqual(await violations(page), []);
	});
});

function assertNear(value: number, expected: number): void {
	assert.ok(Math.abs(value / expected - 1) < 0.15, `${value} instead of ${expected}`);
}

describe("making and installing a release in the demo", { skip }, () => {
	test("takes one click, and suggests the next free version", async (t) => {
		const { page, board } = await openBoard(t, await startDemo(t));
		await board.getByRole("button", { name: "Build and install 1.1.0" }).click();
		await board.getByText("Updated to 1.1.0").waitFor();
		const facts = page.getByRole("region", { name: "Details" });
		await facts.getByText("1.1.0", { exact: true }).waitFor();
		await board.getByRole("button", { name: "Build and install 1.2.0" }).click();
		await board.getByText("Updated to 1.2.0").waitFor();
		await facts.getByText("1.2.0", { exact: true }).waitFor();
	});

	test("works in two browsers at once, each for its device", async (t) => {
		const demo = await startDemo(t);
		const pages = await Promise.all(
			[demo.dev, demo.proto].map((id) => open(t, demo.url, { view: `#/device/${id}` })),
		);
		const make = /^Build and install 1\./;
		for (const page of pages) await page.getByRole("button", { name: make }).waitFor();
		await Promise.all(pages.map((page) => page.getByRole("button", { name: make }).click()));
		for (const page of pages)
			await page
				.getByRole("region", { name: "Board" })
				.getByText(/^Updated to 1\.[12]\.0/)
				.waitFor();
	});

	test("reports why a release could not be made", async (t) => {
		const folder = await temporaryDirectory(t);
		const { board } = await openBoard(t, await runDemo(t, folder), { expected: /422/ });
		await writeFile(join(folder, "releases", "catalog.json"), "{");
		await board.getByRole("button", { name: "Build and install 1.1.0" }).click();
		await board
			.getByText(/^Building the release failed: Invalid catalog .*catalog\.json\. Repair it first/)
			.waitFor();
	});
});

test("requests no board from a gateway that is not a demo", { skip }, async (t) => {
	const { url } = await runGateway(t);
	const device = await new ScriptedDevice({ url, deviceId: "proto-1-5c02fe", model: "PROTO-1" }).connect();
	t.after(() => device.close());
	const asked: string[] = [];
	const page = await open(t, url, {
		view: "#/device/proto-1-5c02fe",
		prepare: async (context) => void context.on("request", (request) => asked.push(request.url())),
	});
	await page.locator(".light-card").waitFor();
	assert.equal(await page.getByRole("region", { name: "Board" }).count(), 0);
	assert.deepEqual(
		asked.filter((address) => address.includes("demo")),
		[],
	);
	assert.equal((await fetch(`${url}/api/demo`)).status, 404);
});

test("loads at most 60 KB of gzipped script for the first view of a demo", {
	skip,
}, async (t) => {
	const { url } = await startDemo(t);
	const fetched = async (path: string) => Buffer.from(await (await fetch(`${url}/${path}`)).arrayBuffer());
	const names = new Set([""]);
	const apart = new Set<string>();
	let size = 0;
	for (const name of names) {
		const text = String(await fetched(name)).replace(/<style>.*<\/style>/s, "");
		size += gzipSync(text, { level: 9 }).length;
		for (const [, next = ""] of text.matchAll(/"\.\/(?:assets\/)?([\w.-]+\.js)"/g))
			if (/^(install-view|later|board|listening)-/.test(next)) apart.add(next.split("-")[0] ?? "");
			else names.add(`assets/${next}`);
	}
	assert.deepEqual([...apart].sort(), ["board", "install", "later", "listening"]);
	assert.ok(size <= 60 * 1024, `${size} bytes`);
});
