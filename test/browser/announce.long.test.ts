/** A person announces on devices in XS: by microphone, file, saved sound and text, on a phone and a desktop. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { call } from "../support/call.js";
import { skip } from "../support/chromium.js";
import { runFleet } from "../support/fleet.js";
import { commandLine } from "../support/gateway-settings.js";
import { temporaryDirectory } from "../support/running.js";
import { bytesPerSecond, capture, tone, wav } from "../support/sounds.js";
import { checkView } from "./axe.js";
import { browsing, type OpenOptions, sees } from "./browsing.js";

const open = browsing(["--use-fake-device-for-media-stream"]);
const dev = "dev-1-020000a1b2c3";
const proto = "proto-1-020000d4e5f6";
const view = "#/announce";
const microphone: OpenOptions = {
	prepare: async (context) => {
		await context.grantPermissions(["microphone"]);
		// Keeps the track, to end it or to see that it was released.
		await context.addInitScript(`
			const { mediaDevices } = navigator;
			const getUserMedia = mediaDevices?.getUserMedia;
			if (mediaDevices) mediaDevices.getUserMedia = async (options) => {
				const stream = await getUserMedia.call(mediaDevices, options);
				window.track = stream.getTracks()[0];
				return stream;
			};
		`);
	},
};

/** Settings of a gateway that speaks a tone of a second for any text. */
async function withVoice(t: TestContext) {
	const voice = join(await temporaryDirectory(t), "voice.mjs");
	const spoken = wav(tone(bytesPerSecond)).toString("base64");
	await writeFile(voice, `process.stdin.resume(); process.stdout.write(Buffer.from("${spoken}", "base64"));`);
	return { environment: { SPEECH_COMMAND: commandLine(process.execPath, voice) } };
}

async function chooseFile(page: Page, name: string, buffer: Buffer): Promise<void> {
	await page.getByRole("button", { name: "File", exact: true }).click();
	await page.getByLabel(/choose one/).setInputFiles({ name, mimeType: "audio/wav", buffer });
}

/** Chooses a source of sound. */
async function from(page: Page, source: string): Promise<void> {
	await page.getByRole("button", { name: source, exact: true }).click();
}

test("announcing", { skip }, async (t) => {
	const { url, powerOn } = await runFleet(t, undefined, await withVoice(t));
	const captures: (() => Buffer)[] = [];
	for (const [model, serial] of [
		["DEV-1", "a1b2c3"],
		["PROTO-1", "d4e5f6"],
	] as const) {
		const { device, report } = await powerOn(model, { serial });
		await report();
		captures.push(capture(device.board));
	}
	await call(url, "PATCH", `devices/${proto}`, { room: "Kitchen", name: "Oven", tags: ["shop"] });
	const sounds = async () =>
		(
			await call<{ readonly sounds: readonly { readonly id: string; readonly name: string }[] }>(
				url,
				"GET",
				"sounds",
			)
		).sounds;
	const announce = (page: Page, where: string) =>
		page.getByRole("button", { name: `Announce ${where}` }).click();

	await t.test("speaks a text on all devices, and keeps a draft while it is repeated", async (t) => {
		const page = await open(t, url, { view, viewport: { width: 390, height: 844 } });
		const text = page.getByRole("textbox", { name: "Message" });
		await text.fill("Dinner is ready");
		await checkView(page);
		await announce(page, "on 2 devices");
		const article = page.getByRole("article", { name: "Dinner is ready" });
		await article.getByText("2 played").waitFor();
		for (const captured of captures)
			assert.ok(captured().includes(tone(bytesPerSecond).subarray(0, 1000)), "the text was not played");
		await text.fill("Tomorrow at ");
		await article.getByRole("button", { name: "Play again: Dinner is ready" }).click();
		await article.nth(1).getByText("2 played").waitFor();
		assert.equal(await text.inputValue(), "Tomorrow at ");
		await checkView(page);
	});

	await t.test("records, previews and plays a recording, without saving it", async (t) => {
		const page = await open(t, url, { ...microphone, view });
		await from(page, "Microphone");
		await page.getByRole("button", { name: "Record", exact: true }).click();
		await page.getByText("0:02 of 2:00").waitFor();
		await checkView(page);
		await page.getByRole("button", { name: "Stop recording" }).click();
		await page.getByRole("button", { name: "Preview" }).click();
		await page.getByRole("button", { name: "Stop", pressed: true }).waitFor();
		await announce(page, "on 2 devices");
		await sees(page.getByRole("article", { name: /^Recording/ }), "2 played");
		assert.deepEqual(await sounds(), []);
		assert.equal(await page.evaluate("track.readyState"), "ended");
	});

	await t.test("keeps what was recorded when the microphone is unplugged", async (t) => {
		const page = await open(t, url, { ...microphone, view });
		await from(page, "Microphone");
		await page.getByRole("button", { name: "Record", exact: true }).click();
		await page.getByText("0:01 of 2:00").waitFor();
		await page.evaluate("track.stop(); track.dispatchEvent(new Event('ended'))");
		await sees(page.getByRole("alert"), /^Microphone disconnected\./);
		await page
			.getByText(/^Recording, .* [\d.]+ s/)
			.first()
			.waitFor();
	});

	await t.test("resamples a file, plays it in a room, and saves it", async (t) => {
		const page = await open(t, url, { view: `${view}?room=Kitchen` });
		const samples = Int16Array.from({ length: 2 * 44_100 }, (_, at) => 800 * Math.sin((at >> 1) / 20));
		await chooseFile(page, "dinner.wav", wav(Buffer.from(samples.buffer), { rate: 44_100, channels: 2 }));
		await page.getByText(/^1\.0 s, made \d+ dB louder$/).waitFor();
		await page.getByLabel("Save as (optional)").fill("Gong");
		await announce(page, "in Kitchen");
		await page.getByRole("article", { name: "Gong" }).getByText("1 played").waitFor();
		const soundNames = (await sounds()).map(({ name }) => name);
		assert.deepEqual(soundNames, ["Gong"]);
	});

	await t.test("stops a long sound from another page", async (t) => {
		const page = await open(t, url, { view: `${view}?devices=${dev}` });
		const other = await open(t, url, { view });
		await chooseFile(page, "long.wav", wav(tone(20 * bytesPerSecond)));
		await announce(page, `on ${dev}`);
		const shown = other.getByRole("article", { name: "long" });
		await shown.getByText("1 playing").waitFor();
		await shown.getByRole("button", { name: "Stop" }).click();
		await page.getByText(/^stopped, stopped after \d\.\d s/).waitFor();
		await shown.getByText("1 stopped").waitFor();
	});

	await t.test("explains what cannot be announced, and what to change", async (t) => {
		const page = await open(t, url, { view });
		const says = (text: RegExp) => page.getByRole("alert").filter({ hasText: text }).waitFor();
		await from(page, "Microphone");
		await page.getByRole("button", { name: "Record", exact: true }).click();
		await says(/^Microphone access denied\. Allow it/);
		for (const [content, problem] of [
			[Buffer.from("no sound at all"), /cannot decode it\.wav\. Choose an audio file/],
			[wav(Buffer.alloc(bytesPerSecond)), /it\.wav is silent/],
			[wav(Buffer.alloc(125 * bytesPerSecond, 1)), /it\.wav is 2 min 5 s long\. Shorten it to 2 min\./],
		] as const) {
			await chooseFile(page, "it.wav", content);
			await says(problem);
		}
		await checkView(page);
		for (const [script, problem] of [
			[
				"Object.defineProperty(BlobEvent.prototype, 'data', { get: () => new Blob() })",
				/^The recording is silent\./,
			],
			["delete window.MediaRecorder", /^This browser cannot record\./],
		] as const) {
			const recording = await open(t, url, { ...microphone, view });
			await recording.evaluate(script);
			await from(recording, "Microphone");
			await recording.getByRole("button", { name: "Record", exact: true }).click();
			if (script.startsWith("Object"))
				await recording.getByRole("button", { name: "Stop recording" }).click();
			await recording.getByRole("alert").filter({ hasText: problem }).waitFor();
			assert.equal(await recording.evaluate("track.readyState"), "ended");
		}
		// Browsers do not treat this address as local.
		const insecure = await open(t, url.replace("127.0.0.1", "0.0.0.0"), { view });
		await insecure.getByText(/^Recording requires https\./).waitFor();
		assert.equal(await insecure.getByRole("button", { name: "Microphone" }).count(), 0);
	});
});
