import assert from "node:assert/strict";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import {
	flashFactoryImage,
	flashSettings,
	makeVirtualImage,
} from "../../../hosts/virtual/node/boot/factory-flash.js";
import { Flash } from "../../../hosts/virtual/node/boot/flash.js";
import { flashBytes } from "../../../hosts/virtual/node/boot/partitions.js";
import { runCommand } from "../../support/command-line.js";
import { temporaryDirectory } from "../../support/running.js";
import { runScriptedGateway } from "../../support/scripted-gateway.js";

const script = "scripts/device.ts";
const token = "device-token-of-the-tests";

test("two devices of one model on one computer have different ids and keep them", async (t) => {
	const gateway = await runScriptedGateway(t);
	const DATA_DIR = await temporaryDirectory(t);
	await writeFile(join(DATA_DIR, "tokens.json"), JSON.stringify({ device: token, monitor: token }));
	const start = () => runCommand(t, script, ["--model", "dev-1", "--gateway", gateway.url], { DATA_DIR });
	const first = start();
	const firstId = (await gateway.connection()).headers["device-id"];
	const second = start();
	const secondConnection = await gateway.connection();
	assert.notEqual(secondConnection.headers["device-id"], firstId);
	assert.equal(secondConnection.headers.authorization, `Bearer ${token}`, "from the gateway's data folder");
	first.process.kill("SIGTERM");
	await first.exitCode;
	start();
	assert.equal((await gateway.connection()).headers["device-id"], firstId);
	assert.equal(second.process.exitCode, null);
});

test("stores its settings in its own folder and finds them at the next start", async (t) => {
	const gateway = await runScriptedGateway(t);
	const DATA_DIR = await temporaryDirectory(t);
	const folder = join(DATA_DIR, "virtual", "dev-1-020000a1b2c3");
	await mkdir(folder, { recursive: true });
	const flash = new Flash({ byteLength: flashBytes, file: join(folder, "flash.bin") });
	flashFactoryImage(flash, makeVirtualImage(Buffer.from("of an earlier start"), "DEV-1", "0.9.0"));
	flashSettings(flash, { volume: "7", gateway: "ws://127.0.0.1:1/device" });
	flash.close();
	const args = ["--model", "dev-1", "--serial", "A1B2C3", "--gateway", gateway.url];
	const device = runCommand(t, script, args, { DATA_DIR, DEVICE_TOKEN: token });
	const { deviceId, peripherals } = await (await gateway.connection()).next("state_report");
	assert.deepEqual([deviceId, peripherals.audio.volume], ["dev-1-020000a1b2c3", 7]);
	device.process.kill("SIGINT");
	assert.equal(await device.exitCode, 0);
	assert.deepEqual(await readdir(folder), ["flash.bin"], "the lock is released");
});

test("rejects a wrong argument with a message", async (t) => {
	const DATA_DIR = await temporaryDirectory(t);
	for (const [args, sentence] of [
		[[], /--model must be dev-1 or proto-1/],
		[["--model", "dev-2"], /--model must be dev-1 or proto-1/],
		[["--model", "dev-1", "--serial", "xyz"], /--serial must be six hexadecimal digits/],
		[["--model", "dev-1", "--gateway", "http://a"], /gateway must be ws:\/\//],
		[["--color", "red"], /--color/],
		[["--model", "dev-1"], /No device token found\. Set DEVICE_TOKEN/],
	] as const) {
		const device = runCommand(t, script, args, { DATA_DIR });
		assert.equal(await device.exitCode, 1, args.join(" "));
		assert.match(device.output(), sentence);
		assert.doesNotMatch(device.output(), /^ +at /m, "contains a stack trace");
	}
});

test("prints why and where its firmware ended, and sets the exit code", async (t) => {
	const gateway = await runScriptedGateway(t);
	const DATA_DIR = await temporaryDirectory(t);
	const device = runCommand(t, script, ["--model", "dev-1", "--gateway", gateway.url], {
		DATA_DIR,
		DEVICE_TOKEN: token,
	});
	const connection = await gateway.connection();
	// XS keeps each property name that it has parsed, so that a foreign gateway can fill its table of names.
	for (let name = 0; name < 4000; name++) connection.send({ command: "query_state", [`name${name}`]: 0 });
	assert.equal(await device.exitCode, 12, device.output());
	assert.match(device.output(), /out_of_memory: out of keys/);
});
