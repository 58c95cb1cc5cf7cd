/** Firmware of both boards with their own drivers on an emulated ESP32-S3 (hosts/qemu). */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import type { PixelStrip } from "../../../device/host.js";
import { ledState, lightOverlay, paint } from "../../../device/peripherals/led-patterns.js";
import type { Command, StateReport } from "../../../device/protocol/messages.js";
import { type Model, models } from "../../../device/protocol/models.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { rewritten } from "../../support/images.js";
import { listen } from "../../support/ports.js";
import { qemuOrReason } from "../../support/programs.js";
import type { Connection } from "../../support/scripted-gateway.js";
import { bytesPerSecond, SoundServer, tone, wav } from "../../support/sounds.js";
import { type BuiltForQemu, buildForQemu, hostAddress, QemuRig } from "./rig.js";

const { sdk, qemu, reason: skip } = qemuOrReason();
const built = new Map<Model, BuiltForQemu>();

async function powerOn(t: TestContext, model: Model) {
	const firmware = built.get(model);
	if (!qemu || !firmware) throw new Error("not built");
	const rig = await QemuRig.start(t, { qemu, model, built: firmware });
	const connection = await rig.connection();
	return { rig, connection, firmware };
}

/** Frames that a pattern shows in `periodMs`, in the wire order of the LEDs, in hex. */
function framesOf(paintAt: (strip: PixelStrip, timeMs: number) => void, periodMs: number): Set<string> {
	const pixels = new Array<number>(12).fill(0);
	const strip: PixelStrip = {
		length: pixels.length,
		makeRGB: (red, green, blue) => (green << 16) | (red << 8) | blue,
		setPixel: (index, color) => {
			pixels[index] = color;
		},
		update: () => {},
		close: () => {},
	};
	const frames = new Set<string>();
	for (let timeMs = 0; timeMs < periodMs; timeMs++) {
		paintAt(strip, timeMs);
		frames.add(pixels.map((pixel) => pixel.toString(16).padStart(6, "0")).join(""));
	}
	return frames;
}

async function command(connection: Connection, sent: Command) {
	connection.send(sent);
	return connection.query();
}

describe("on an emulated ESP32-S3", { skip, concurrency: true }, () => {
	before(async () => {
		if (sdk) for (const model of models) built.set(model, await buildForQemu(sdk, model));
	});
	for (const model of models) test(`a ${model}`, (t) => runBoard(t, model));
});

async function runBoard(t: TestContext, model: Model): Promise<void> {
	const { rig, connection, firmware } = await powerOn(t, model);

	await t.test("starts without errors, identifies itself and reports all its parts", async () => {
		assert.equal(connection.headers["device-chip"], "esp32s3-qemu");
		assert.equal(connection.headers["device-model"], model);
		const report = await connection.next("state_report");
		assert.equal(report.deviceId, `${model.toLowerCase()}-246f28a1b2c3`);
		assert.equal(report.system.firmware_version, "1.0.0");
		const { audio, led_ring: ring, ...others } = report.peripherals;
		assert.deepEqual([audio.fault, ring.state_id], [undefined, ledState.connected]);
		assert.equal("haptic_intensity" in others, model === "PROTO-1");
		// QEMU's Ethernet has no filters and no interrupt pin; the last one is in hosts/upstream.md.
		const expected =
			/esp_eth|multicast filter|GPIO isr service already installed|ledc_timer_pause.*LEDC is not initialized/;
		const errors = rig.serial.split("\n").filter((line) => /^E \(|Guru|abort\(|panic/.test(line));
		assert.deepEqual(
			errors.filter((line) => !expected.test(line)),
			[],
		);
	});

	await t.test("starts the codec with the registers of its data sheet", () => {
		const writes = rig.events.flatMap(({ codec }) => (codec ? [codec] : []));
		// Changes from 0, to which the model resets all registers, up to the first sound.
		assert.deepEqual(writes.slice(0, 18), codecStart);
	});

	await t.test(
		"shows each state, effect and brightness on all LEDs in the frames of the pattern",
		async () => {
			await command(connection, { command: "set_brightness", value: 0.5 });
			const shown = async (sent: Command, frames: Set<string>) => {
				await command(connection, sent);
				rig.forget();
				if (frames.size === 1) return;
				const seen = await rig.frames(10);
				for (const frame of seen) assert.ok(frames.has(frame), `${JSON.stringify(sent)}: ${frame}`);
			};
			const last = () => rig.events.findLast(({ ring }) => ring !== undefined)?.ring;
			for (const [preset, state, periodMs] of [
				["rainbow", ledState.connected, 2000],
				["connecting", ledState.serverConnecting, 1000],
				["updating", ledState.updating, 3000],
			] as const)
				await shown(
					{ command: "set_led", value: preset },
					framesOf((strip, timeMs) => paint(strip, state, timeMs, 0.5), periodMs),
				);
			for (const effect of ["breathe", "blink", "turn"] as const)
				await shown(
					{ command: "set_light", value: { color: "#ff8800", effect } },
					framesOf(
						(strip, timeMs) => lightOverlay({ color: "#ff8800", effect }).paint(strip, timeMs, 0.5),
						6000,
					),
				);
			for (const value of [0.1, 0.5, 1])
				for (const [color, effect] of [
					["#ff0000", "solid"],
					["#0080ff", "solid"],
					["#00ff00", "progress"],
				] as const) {
					rig.forget();
					await command(connection, { command: "set_brightness", value });
					const light = { color, effect, progress: 0.45 };
					const [frame] = framesOf((strip) => lightOverlay(light).paint(strip, 0, value), 1);
					await command(connection, { command: "set_light", value: light });
					await rig.until(({ ring }) => ring === frame);
				}
			rig.forget();
			await command(connection, { command: "set_led", value: "failed" });
			const [red] = framesOf((strip) => paint(strip, ledState.wifiFailed, 0, 1), 1);
			await rig.until(({ ring }) => ring === red);
			assert.equal(last(), red);
			await command(connection, { command: "set_led", value: "rainbow" });
		},
	);

	await t.test("plays a chime sample by sample, with the amplifier on before and off after it", async () => {
		await command(connection, { command: "set_volume", value: 80 });
		rig.forget();
		const { length: start } = rig.sound;
		connection.send({ command: "play_audio", value: "startup" });
		await connection.next("state_report", ({ peripherals: { audio } }) => audio.player_state === "playing");
		await connection.next("state_report", ({ peripherals: { audio } }) => audio.player_state === "idle");
		await rig.until(({ i2s }) => i2s === false);
		const chime = readFileSync(join(projectFolder, "device", "chimes", "startup.wav")).subarray(44);
		assert.ok(rig.sound.subarray(start).includes(chime), "the samples differ or have a gap");
		const order = rig.events.flatMap(({ gpio, level, i2s, codec }) => {
			if (gpio === 14) return [`amplifier ${level}`];
			if (i2s !== undefined) return [`i2s ${i2s}`];
			return codec?.[0] === 0x32 ? [`gain ${codec[1]}`] : [];
		});
		assert.deepEqual([order[0], order.at(-2), order.at(-1)], ["i2s true", "amplifier 0", "i2s false"]);
		assert.ok(order.includes("amplifier 1"), order.join());
		// 0xbf is 0 dB; one step a percent.
		assert.ok(order.includes(`gain ${0xbf - 20}`), order.join());
	});

	await t.test("plays a streamed sound without a gap at the given volume", async () => {
		const samples = tone(4 * bytesPerSecond);
		const server = await SoundServer.run(t, { file: wav(samples) });
		const url = server.url.replace("127.0.0.1", hostAddress);
		rig.forget();
		const { length: start } = rig.sound;
		connection.send({ command: "play_sound", value: { id: "tone", url, volume: 40 } });
		const { underruns } = await connection.next("sound_update", ({ state }) => state === "played");
		assert.equal(underruns ?? 0, 0);
		assert.ok(rig.sound.subarray(start).includes(samples), "the samples differ or have a gap");
		const gains = rig.events.flatMap(({ codec }) => (codec?.[0] === 0x32 ? [codec[1]] : []));
		assert.ok(gains.includes(0xbf - 60), gains.join());
	});

	await t.test("reads buttons: press, several at once, hold and bounce", async () => {
		const pressed = (name: keyof StateReport["peripherals"]["buttons"], isPressed: boolean) =>
			connection.next("state_report", ({ peripherals }) => peripherals.buttons[name] === isPressed);
		await command(connection, { command: "set_volume", value: 50 });
		rig.board.setButton("volumeUp", true);
		await pressed("btn_vol_up", true);
		rig.board.setButton("volumeDown", true);
		const { peripherals } = await pressed("btn_vol_down", true);
		assert.equal(peripherals.buttons.btn_vol_up, true, "held");
		rig.board.setButton("volumeUp", false);
		rig.board.setButton("volumeDown", false);
		await connection.next(
			"state_report",
			({ peripherals: { buttons } }) => !Object.values(buttons).includes(true),
		);
		await command(connection, { command: "set_volume", value: 50 });
		for (let times = 0; times < 5; times++) {
			rig.board.setButton("mute", true);
			rig.board.setButton("mute", false);
		}
		rig.board.setButton("mute", true);
		await pressed("btn_mute", true);
		rig.board.setButton("mute", false);
		const muted = await pressed("btn_mute", false);
		assert.equal(muted.peripherals.audio.volume, 0, "a bounce is no second press");
		await command(connection, { command: "set_volume", value: 50 });
	});

	await t.test("reports a codec that does not answer to a sound, and restores it", async () => {
		rig.board.hasCodec = false;
		connection.send({ command: "play_audio", value: "startup" });
		await connection.next("state_report", ({ peripherals: { audio } }) => audio.fault !== undefined);
		rig.board.hasCodec = true;
		await connection.next("state_report", ({ peripherals: { audio } }) => audio.fault === undefined);
	});

	if (model === "PROTO-1")
		await t.test("has motor, light sensor and touch pad", () => sensors(rig, connection));

	let session = connection;
	await t.test("reconnects after a lost connection", async () => {
		session.socket.terminate();
		session = await rig.connection();
		await session.next("state_report");
	});

	// Both boards have the same code for updates.
	if (model !== "DEV-1") return;
	const images = await serveImages(t);
	await t.test("rejects an image for boards", async () => {
		images.file = rewritten(versionOf(firmware.image, "1.1.0"), 0x158, [0, 0]);
		session.send({ command: "start_ota", url: images.url });
		const { reason } = await session.next("ota_error");
		assert.match(reason, /for another chip \(esp32s3\)/);
	});
	const install = async (version: string) => {
		images.file = versionOf(firmware.image, version);
		session.send({ command: "start_ota", url: images.url });
		await session.next("ota_complete");
	};
	const versionAfterStart = async () => {
		session = await rig.connection();
		return (await session.next("state_report")).system.firmware_version;
	};
	await t.test("installs an image for QEMU", async () => {
		await install("1.1.0");
		assert.equal(await versionAfterStart(), "1.1.0");
	});
	await t.test("rolls back an image whose first start ends before it is confirmed", async () => {
		// Rejected as busy until the running image is confirmed.
		await session.query();
		const { length } = rig.serial;
		await install("1.2.0");
		// The boot loader has marked the image as started once.
		await rig.printed(`${model} 1.2.0`, length);
		await rig.powerCycle();
		assert.equal(await versionAfterStart(), "1.1.0");
	});
}

async function sensors(rig: QemuRig, connection: Connection): Promise<void> {
	rig.forget();
	await command(connection, { command: "set_haptics", value: 60 });
	const { duty = 0 } = await rig.until(({ pwm, duty: at = 0 }) => pwm !== undefined && at > 0);
	assert.ok(Math.abs(duty - 0.6) < 0.001, `${duty}`);
	rig.forget();
	rig.board.isTouched = true;
	await connection.next("state_report", ({ peripherals }) => peripherals.touch_active === true);
	// The pause that can be felt.
	await rig.until(({ pwm, duty: at }) => pwm !== undefined && at === 0);
	rig.board.isTouched = false;
	await connection.next("state_report", ({ peripherals }) => peripherals.touch_active === false);
	await command(connection, { command: "set_haptics", value: 0 });
	for (const light of [4095, 0, 2000]) {
		rig.board.light = light;
		await connection.next(
			"state_report",
			({ peripherals: { ambient_light: value = -1 } }) => Math.abs(value - light) <= 20,
		);
	}
}

/** Image of another version, with a new identity. */
function versionOf(image: Buffer, version: string): Buffer {
	const text = version.padEnd(32, "\0");
	return [0x30, 0x138].reduce((bytes, offset) => rewritten(bytes, offset, text), image);
}

async function serveImages(t: TestContext) {
	const images: { file: Buffer; url: string } = { file: Buffer.alloc(0), url: "" };
	const server = createServer(({ headers: { range } }, response) => {
		const { file } = images;
		const [, from = "0", to = ""] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? [];
		const end = to === "" ? file.length - 1 : Math.min(Number(to), file.length - 1);
		const part = file.subarray(Number(from), end + 1);
		response.writeHead(range ? 206 : 200, {
			"Content-Length": part.length,
			...(range && { "Content-Range": `bytes ${from}-${end}/${file.length}` }),
		});
		response.end(part);
	});
	images.url = `http://${hostAddress}:${await listen(t, server)}/firmware.bin`;
	return images;
}

/** Writes of es8311.ts that change a register, in its order. */
const codecStart = [
	[0x44, 0x08],
	[0x31, 0x60],
	[0x01, 0x3f],
	[0x03, 0x10],
	[0x04, 0x10],
	[0x06, 0x03],
	[0x08, 0xff],
	[0x09, 0x0c],
	[0x0a, 0x4c],
	[0x10, 0x1f],
	[0x11, 0x7f],
	[0x00, 0x80],
	[0x0d, 0x01],
	[0x0e, 0x02],
	[0x13, 0x10],
	[0x37, 0x18],
];
