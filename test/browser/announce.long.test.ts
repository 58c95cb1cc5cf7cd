/** Announcing from the page with Chromium's fake microphone, a file and a saved sound, on devices in XS. */

import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Locator, Page } from "playwright-core";
import { SoundDevice } from "../gateway/announcements/sound-device.js";
import { skip } from "../support/chromium.js";
import { eventually } from "../support/eventually.js";
import { runFleet } from "../support/fleet.js";
import { commandLine } from "../support/gateway-settings.js";
import { bearer, monitorToken, runGateway, temporaryDirectory } from "../support/running.js";
import { ScriptedDevice } from "../support/scripted-device.js";
import { bytesPerSecond, capture, tone, wav } from "../support/sounds.js";
import { violations, widerThan } from "./axe.js";
import { browsing } from "./browsing.js";

const open = browsing(["--use-fake-device-for-media-stream"]);
const dev = "dev-1-020000a1b2c3";
const proto = "proto-1-020000d4e5f6";
const plain = "dev-1-000001";

/** @returns a file for a file input */
function file(name: string, content: Buffer) {
	return { name, mimeType: "audio/wav", buffer: content };
}

function announce(page: Page, where: string): Promise<void> {
	return page.getByRole("button", { name: `Announce ${where}` }).click();
}

/** Checks the results of devices in the order of the page; on a slow machine they may report a late start. */
async function answered(page: Page, name: string, expected: readonly string[]): Promise<void> {
	const texts = await page.getByRole("article", { name }).getByRole("listitem").allTextContents();
	assert.deepEqual(
		texts.map((text) => text.replace(/, (began|waited).*/, "")),
		expected,
	);
}

async function chooseFile(page: Page, content: Parameters<Locator["setInputFiles"]>[0]): Promise<void> {
	await page.getByRole("button", { name: "File", exact: true }).click();
	await page.getByLabel(/choose one/).setInputFiles(content);
}

test("announcing", { skip }, async (t) => {
	const { url, powerOn } = await runFleet(t);
	const call = async (method: string, path: string, body?: object) => {
		const headers = bearer(monitorToken);
		const content = body && { body: JSON.stringify(body) };
		const response = await fetch(`${url}${path}`, { method, headers, ...content });
		const text = await response.text();
		return text === "" ? undefined : JSON.parse(text);
	};
	const kept = async (): Promise<readonly { readonly id: string; readonly name: string }[]> =>
		(await call("GET", "/api/sounds")).sounds;
	const captures: (() => Buffer)[] = [];
	for (const [model, serial] of [
		["DEV-1", "a1b2c3"],
		["PROTO-1", "d4e5f6"],
	] as const) {
		const { device, report } = await powerOn(model, { serial });
		await report();
		captures.push(capture(device.board));
	}
	await call("PATCH", `/api/devices/${proto}`, { room: "Kitchen", name: "Oven" });
	const view = "#/announce";

	await t.test("plays a recording without adding it to the saved sounds", async (t) => {
		const prepare = (context: { grantPermissions(names: string[]): Promise<void> }) =>
			context.grantPermissions(["microphone"]);
		const page = await open(t, url, { view, prepare });
		await page.getByRole("button", { name: "Microphone" }).click();
		await page.getByRole("button", { name: "Record", exact: true }).click();
		await page.getByText("0:02 of 2:00").waitFor();
		assert.deepEqual(await violations(page), []);
		await page.getByRole("button", { name: "Stop recording" }).click();
		await page.getByText(/^Recording, .* [\d.]+ s/).waitFor();
		const hear = page.getByRole("button", { name: "Preview" });
		await hear.click();
		await page.getByRole("button", { name: "Stop", pressed: true }).waitFor();
		await hear.waitFor();
		await announce(page, "on 2 devices");
		await page.getByText("2 played").waitFor();
		await answered(page, "Recording,", [`${dev}played`, "Ovenplayed"]);
		for (const captured of captures) {
			const samples = captured();
			assert.ok(samples.length > 2 * bytesPerSecond, `${samples.length} bytes`);
			assert.notEqual(Buffer.compare(samples, Buffer.alloc(samples.length)), 0, "only silence was played");
		}
		assert.deepEqual(await kept(), []);
	});

	await t.test("resamples a file, plays it in a room, and saves it", async (t) => {
		const page = await open(t, url, { view: "#/announce?room=Kitchen" });
		const stereo = Buffer.from(
			Int16Array.from({ length: 2 * 44_100 }, (_, at) => 800 * Math.sin((at >> 1) / 20)).buffer,
		);
		await chooseFile(page, file("dinner.wav", wav(stereo, { rate: 44_100, channels: 2 })));
		await page.getByText(/^1\.0 s, made \d+ dB louder$/).waitFor();
		await page.getByLabel("Save as (optional)").fill("Dinner");
		await announce(page, "in Kitchen");
		await page.getByText("1 played").waitFor();
		await answered(page, "Dinner", ["Ovenplayed"]);
		assert.deepEqual(
			(await kept()).map(({ name }) => name),
			["Dinner"],
		);
		assert.deepEqual(await violations(page), []);
	});

	await t.test(
		"plays a saved sound at its own volume, and reports a device that cannot play it",
		async (t) => {
			const device = await new ScriptedDevice({ url, deviceId: plain, features: ["identify"] }).connect();
			t.after(() => device.close());
			const page = await open(t, url, { view });
			await page.getByText("1 without support for sounds. Update the firmware.").first().waitFor();
			await page.getByRole("button", { name: "Saved", exact: true }).click();
			await page.getByRole("radio", { name: "Dinner" }).check();
			await page.getByLabel("Set announcement volume").check();
			await page.getByRole("slider", { name: "Announcement volume" }).fill("30");
			await announce(page, "on 3 devices");
			await page.getByText("1 not supported, 2 played").waitFor();
			await answered(page, "Dinner", [
				`${plain}not supported: The firmware does not support sounds. Update it.`,
				`${dev}played`,
				"Ovenplayed",
			]);
			assert.deepEqual(await violations(page), []);
		},
	);

	await t.test("plays an urgent announcement with a chime on a muted device", async (t) => {
		await call("POST", "/api/commands", {
			targets: { devices: [proto] },
			payload: { command: "set_volume", value: 0 },
		});
		const page = await open(t, url, { view: "#/announce?room=Kitchen" });
		await page.getByText("1 muted. Only urgent announcements are audible.").waitFor();
		await page.getByLabel(/^Urgent/).check();
		await page.getByLabel("Chime first").check();
		await page.getByText("Only urgent announcements are audible.").waitFor({ state: "detached" });
		await page.getByRole("button", { name: "Saved", exact: true }).click();
		await page.getByRole("radio", { name: "Dinner" }).check();
		await announce(page, "in Kitchen");
		// The list contains earlier announcements.
		await eventually(
			async () => (await call("GET", "/api/announcements")).announcements[0],
			({ again, counts }) =>
				again?.priority === "urgent" && again.chime === "attention" && counts.played === 1,
		);
		await call("POST", "/api/commands", {
			targets: { devices: [proto] },
			payload: { command: "set_volume", value: 50 },
		});
	});

	await t.test("stops a long sound from another page", async (t) => {
		const [page, other] = [
			await open(t, url, { view: `${view}?devices=${dev}` }),
			await open(t, url, { view }),
		];
		await chooseFile(page, file("long.wav", wav(tone(20 * bytesPerSecond))));
		await announce(page, `on ${dev}`);
		await page.getByText("1 playing").waitFor();
		const shown = other.getByRole("article", { name: "long" });
		await shown.getByText("1 playing").waitFor();
		await shown.getByRole("button", { name: "Stop" }).click();
		await page.getByText(/^stopped, stopped after \d\.\d s/).waitFor();
		await shown.getByText("1 stopped").waitFor();
	});

	await t.test("reports errors with what to change", async (t) => {
		const page = await open(t, url, { view });
		await page.getByRole("button", { name: "Microphone" }).click();
		await page.getByRole("button", { name: "Record", exact: true }).click();
		const says = (text: RegExp) => page.getByRole("alert").filter({ hasText: text }).waitFor();
		await says(/^Microphone access denied\. Allow it/);
		for (const [content, problem] of [
			[Buffer.from("no sound at all"), /cannot decode it\.wav\. Choose an audio file/],
			[wav(Buffer.alloc(bytesPerSecond)), /it\.wav is silent/],
			[wav(tone(bytesPerSecond), { rate: 16_000 }).subarray(0, 44), /it\.wav/],
			[wav(Buffer.alloc(125 * bytesPerSecond, 1)), /it\.wav is 2 min 5 s long\. Shorten it to 2 min\./],
		] as const) {
			await chooseFile(page, file("it.wav", content));
			await says(problem);
		}
		assert.ok(
			await page.getByRole("button", { name: "Announce on 3 devices" }).isDisabled(),
			"the button is enabled",
		);
		await page.getByRole("button", { name: "Saved", exact: true }).click();
		await page.getByRole("radio", { name: "Dinner" }).check();
		for (const { id } of await kept()) await call("DELETE", `/api/sounds/${id}`);
		await announce(page, "on 3 devices");
		await says(/^Dinner was deleted\. Choose another sound\.$/);
		await page.getByText("No saved sounds.").waitFor();
		assert.deepEqual(await violations(page), []);
	});
});

describe("announcement source", { skip }, () => {
	/** Starts a gateway with a voice, and a device that finishes sounds on request. */
	async function setUp(t: TestContext) {
		const dataDir = await temporaryDirectory(t);
		const voice = join(dataDir, "voice.mjs");
		const spoken = wav(tone(bytesPerSecond)).toString("base64");
		await writeFile(
			voice,
			`process.stdin.resume(); process.stdout.write(Buffer.from("${spoken}", "base64"));`,
		);
		const { url } = await runGateway(t, {
			dataDir,
			environment: { SPEECH_COMMAND: commandLine(process.execPath, voice) },
		});
		const device = await new SoundDevice({ url, deviceId: dev }).connect();
		t.after(() => device.close());
		const page = await open(t, url, { view: "#/announce", viewport: { width: 390, height: 844 } });
		/** Finishes the latest sound. */
		const played = async (count: number) => {
			const ids = () =>
				device.commands.flatMap(({ command, value }) => (command === "play_sound" ? [Object(value).id] : []));
			const id = (await eventually(ids, ({ length }) => length === count)).at(-1);
			device.update(id, "played");
		};
		return { url, page, played };
	}

	test("defaults to text if the gateway has a voice, otherwise to a file; offers recording", async (t) => {
		const { page } = await setUp(t);
		const offered = (on: Page) => on.getByRole("group", { name: "Source" }).getByRole("button");
		await page.getByRole("textbox", { name: "Message" }).waitFor();
		assert.deepEqual(await offered(page).allTextContents(), ["Text", "File", "Microphone", "Saved"]);
		const { url } = await runGateway(t);
		const mute = await open(t, url, { view: "#/announce" });
		await mute.getByText("Drop an audio file").waitFor();
		assert.deepEqual(await offered(mute).allTextContents(), ["File", "Microphone", "Saved"]);
		await mute
			.getByText(/^To announce a text, install a voice such as espeak-ng, set SPEECH_COMMAND=/)
			.waitFor();
	});

	test("explains why recording is unavailable", async (t) => {
		const { url } = await runGateway(t);
		// Browsers do not treat this address as local.
		const page = await open(t, url.replace("127.0.0.1", "0.0.0.0"), { view: "#/announce" });
		const { port } = new URL(url);
		const words = `Recording requires https. Start the gateway with TLS_CERT and TLS_KEY, or open http://localhost:${port}/ on its computer.`;
		await page.getByText(words, { exact: true }).waitFor();
		assert.equal(await page.getByRole("button", { name: "Microphone" }).count(), 0);
		assert.deepEqual(await violations(page), []);
	});

	test("measures loudness by the standard: high tones count more", async (t) => {
		const { page } = await setUp(t);
		for (const [hz, gain] of [
			[997, 21],
			[5_000, 18],
			[100, 23],
			[30, 30],
		] as const) {
			const samples = Int16Array.from(
				{ length: 16_000 },
				(_, at) => 655 * Math.sin((2 * Math.PI * hz * at) / 16_000),
			);
			await chooseFile(page, file(`${hz}.wav`, wav(Buffer.from(samples.buffer))));
			await page.getByText(`1.0 s, made ${gain} dB louder`, { exact: true }).waitFor();
		}
	});

	test("can be repeated from the latest five, and keeps a draft", async (t) => {
		const { url, page, played } = await setUp(t);
		const text = page.getByRole("textbox", { name: "Message" });
		const first = page.getByRole("article", { name: "Dinner is ready" });
		await text.fill("Dinner is ready");
		await announce(page, `on ${dev}`);
		await played(1);
		await first.getByText("1 played").waitFor();
		await text.fill("Tomorrow at ");
		await first.getByRole("button", { name: "Play again: Dinner is ready" }).click();
		await played(2);
		await first.getByText("1 played").nth(1).waitFor();
		assert.equal(await text.inputValue(), "Tomorrow at ");

		for (const [index, name] of ["door", "bell", "gong"].entries()) {
			await chooseFile(page, file(`${name}.wav`, wav(tone((index + 1) * bytesPerSecond))));
			await page.getByText(new RegExp(`^${name}\\.wav`)).waitFor();
			await announce(page, `on ${dev}`);
			await played(3 + index);
			await page
				.getByRole("article", { name: `${name}.wav` })
				.getByText("1 played")
				.waitFor();
		}
		const latest = ["gong.wav", "bell.wav", "door.wav", "Dinner is ready", "Dinner is ready"];
		await eventually(
			() => page.getByRole("article").getByRole("heading").allTextContents(),
			(names) => names.join() === latest.join(),
		);
		const door = page.getByRole("article", { name: "door.wav" });
		await door.getByText("All devices, ").waitFor();
		await door.getByRole("button", { name: "Play again: door.wav" }).click();
		await played(6);
		await door.getByText("1 played").nth(1).waitFor();
		const [{ again }] = JSON.parse(
			await (await fetch(`${url}/api/announcements`, { headers: bearer(monitorToken) })).text(),
		).announcements;
		await fetch(`${url}/api/sounds/${again.sound}`, { method: "DELETE", headers: bearer(monitorToken) });
		await page.reload();
		await door.getByText("The sound was deleted.").first().waitFor();
		assert.equal(await page.getByRole("button", { name: "Play again: door.wav" }).count(), 0);
		await page.getByRole("button", { name: "Play again: gong.wav" }).waitFor();
		assert.deepEqual(await violations(page), []);
		assert.deepEqual(await widerThan(page, 390), []);
	});
});

test("microphone", { skip }, async (t) => {
	const { url } = await runGateway(t);
	/** @param script runs in the page before its own */
	const record = async (script = "") => {
		const page = await open(t, url, {
			view: "#/announce",
			prepare: async (context) => {
				await context.grantPermissions(["microphone"]);
				await context.addInitScript(`
					const { mediaDevices } = navigator;
					const getUserMedia = mediaDevices?.getUserMedia;
					if (mediaDevices) mediaDevices.getUserMedia = async (options) => {
						const stream = await getUserMedia.call(mediaDevices, options);
						window.track = stream.getTracks()[0];
						return stream;
					};
					${script}
				`);
			},
		});
		await page.getByRole("button", { name: "Microphone" }).click();
		await page.getByRole("button", { name: "Record", exact: true }).click();
		const says = (text: RegExp) => page.getByRole("alert").filter({ hasText: text }).waitFor();
		const isLetGo = async () => assert.equal(await page.evaluate("track.readyState"), "ended");
		return { page, says, isLetGo };
	};

	await t.test("keeps what was recorded when it is unplugged", async () => {
		const { page, says, isLetGo } = await record();
		await page.getByText("0:01 of 2:00").waitFor();
		await page.evaluate("track.stop()");
		await says(/^Microphone disconnected\. The recording until then is kept\.$/);
		await page.getByText(/^Recording, .* [\d.]+ s/).waitFor();
		await isLetGo();
	});

	await t.test("is reported if muted or without samples", async () => {
		// A muted system microphone delivers no samples.
		const { page, says, isLetGo } = await record(`
			Object.defineProperty(MediaStreamTrack.prototype, "muted", { get: () => true });
			Object.defineProperty(BlobEvent.prototype, "data", { get: () => new Blob() });
		`);
		await page.getByText("Microphone muted. Unmute it").waitFor();
		await page.getByRole("button", { name: "Stop recording" }).click();
		await says(/^The recording is silent\. Check .* whether it is muted/);
		await isLetGo();
	});

	for (const [name, script, problem] of [
		[
			"that no recorder takes",
			"delete window.MediaRecorder;",
			/^This browser cannot record\. Use another one/,
		],
		[
			"whose recorder fails",
			"MediaRecorder.prototype.start = () => { throw new DOMException('No codec', 'NotSupportedError'); };",
			/^Microphone unavailable: No codec$/,
		],
	] as const)
		await t.test(`${name} is let go`, async () => {
			const { says, isLetGo } = await record(script);
			await says(problem);
			await isLetGo();
		});
});
