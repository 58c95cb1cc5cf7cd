/** Steps of `npm run qemu` that run without ESP-IDF and its QEMU: arguments, requirements, flash and start. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { binFolder } from "../../../scripts/boards/build.js";
import { makeFlashImage, settingsPartition } from "../../../scripts/boards/flash-image.js";
import { UsageError } from "../../../scripts/command-line/command.js";
import { thisMachine } from "../../../scripts/command-line/machine.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { readArguments } from "../../../scripts/qemu/arguments.js";
import { findQemu } from "../../../scripts/qemu/tools.js";
import { entryPoint } from "../../support/entry-point.js";
import { withEnvironment } from "../../support/environment.js";
import { readStrings } from "../esp32/nvs/reader.js";

const work = mkdtempSync(join(tmpdir(), "qemu-"));
after(() => rmSync(work, { recursive: true, force: true }));

/** Parses arguments on a computer without gateway data. @throws UsageError with all problems */
function readWith(DEVICE_TOKEN: string, words: readonly string[]) {
	return withEnvironment({ DATA_DIR: work, DEVICE_TOKEN }, () => readArguments(words));
}
const read = (...words: string[]) => readWith("", ["dev-1", ...words]);

function problemsOf(...words: string[]): string {
	try {
		read(...words);
	} catch (error) {
		if (error instanceof UsageError) return error.message;
		throw error;
	}
	return "";
}

describe("arguments of npm run qemu", () => {
	test("set the device's settings, with or without dashes", () => {
		const url = "ws://192.168.1.20:8080/device";
		const expected = { ssid: "qemu", gateway: url, token: "t0p-s3cret" };
		for (const words of [
			["--gateway", url, "--token", "t0p-s3cret"],
			[`--gateway=${url}`, "token=t0p-s3cret"],
			[`gateway=${url}`, "token=t0p-s3cret"],
		]) {
			const { settings, mode } = read(...words);
			assert.deepEqual(settings, expected);
			assert.equal(mode, "run");
		}
	});

	test("default to the discovered token", () => {
		const words = ["--gateway", "ws://192.168.1.20:8080/device"];
		assert.match(problemsOf(...words), /No device token found\. .*start one \(npm start\)/);
		assert.equal(readWith("the-token-in-use", ["dev-1", ...words]).settings?.token, "the-token-in-use");
	});

	test("require a certificate authority for wss, and the error names the required certificate host", () => {
		assert.match(problemsOf("--gateway", "wss://127.0.0.1:8443/device", "token=t"), /wss requires ca=/);
		const file = join(work, "no.pem");
		writeFileSync(file, "no certificate");
		assert.match(
			problemsOf("--gateway", "wss://10.0.0.9/device", "token=t", `ca=${file}`),
			/is not a certificate/,
		);
	});

	test("are validated together, without printing words that may be half of a token", () => {
		const said = problemsOf("s3cret", "--tokn", "gateway=http://10.0.0.9", "sntp=");
		assert.match(said, /Unknown argument 2\./);
		assert.match(said, /Unknown argument 3\./);
		assert.match(said, /sntp= has no value/);
		assert.match(said, /must be ws:/);
		assert.doesNotMatch(said, /s3cret|tokn/);
		assert.match(problemsOf("--gateway"), /gateway= has no value/);
		assert.match(problemsOf(), /Specify gateway=/);
	});

	test("keep the settings with `keep`, which excludes other arguments", () => {
		const { mode, settings } = read("--keep");
		assert.deepEqual([mode, settings], ["keep", undefined]);
		for (const word of ["token=t", "version=1.1.0"])
			assert.match(problemsOf("keep", word), /keep cannot be combined with/);
	});
});

/** Creates a QEMU that finds one device. */
function fakeQemu(folder: string, device = ""): string {
	mkdirSync(folder, { recursive: true });
	const path = join(folder, "qemu-system-xtensa");
	writeFileSync(path, `#!/bin/sh\n[ "$2" = "${device},help" ]\n`);
	chmodSync(path, 0o755);
	return path;
}

describe("QEMU", { skip: process.platform === "win32" ? "needs a shell" : undefined }, () => {
	const find = (PATH: string) => findQemu(thisMachine({ PATH }));

	test("without the model of the boards is reported with the way to get it", () => {
		const howTo = "Fix: build it as in hosts\\/qemu\\/model\\/README\\.md";
		assert.throws(() => find(join(work, "nothing")), new RegExp(`not found\\. ${howTo}`));
		fakeQemu(join(work, "espressif"));
		assert.throws(
			() => find(join(work, "espressif")),
			new RegExp(`lacks the model of the boards, .* ${howTo}`),
		);
	});

	test("is found on the PATH after others", () => {
		const path = fakeQemu(join(work, "ours"), "esp32s3.board");
		assert.equal(find(["nothing", "espressif", "ours"].map((name) => join(work, name)).join(":")), path);
	});
});

describe("flash in QEMU", () => {
	const files = {
		"bootloader.bin": 1,
		"partition-table.bin": 2,
		"ota_data_initial.bin": 3,
		"xs_esp32.bin": 4,
	};

	function built(sizes: Partial<Record<keyof typeof files, number>> = {}): string {
		const folder = mkdtempSync(join(work, "bin-"));
		for (const [name, value] of Object.entries(files))
			writeFileSync(join(folder, name), Buffer.alloc(Reflect.get(sizes, name) ?? 64, value));
		return folder;
	}

	const settings = settingsPartition({ ssid: "qemu", token: "t0p-s3cret" });

	test("contains each part at its offset and is erased around them", () => {
		const flash = makeFlashImage(built(), settings);
		assert.equal(flash.byteLength, 16 * 1024 * 1024);
		for (const [offset, value] of [
			[0, 1],
			[0x8000, 2],
			[0x9000, 3],
			[0x20000, 4],
		] as const) {
			if (offset > 0) assert.equal(flash[offset - 1], 0xff);
			assert.deepEqual(flash.subarray(offset, offset + 64), new Uint8Array(64).fill(value));
			assert.equal(flash[offset + 64], 0xff);
		}
		assert.deepEqual(flash.subarray(0x10000, 0x20000), settings.bytes);
		assert.deepEqual(
			readStrings(settings.bytes, "settings"),
			new Map([
				["ssid", "qemu"],
				["token", "t0p-s3cret"],
			]),
		);
	});

	test("rejects parts that do not fit or are missing", () => {
		assert.throws(
			() => makeFlashImage(built({ "xs_esp32.bin": 0x700001 }), settings),
			/xs_esp32\.bin has 7340033 bytes, at most 7340032 are available/,
		);
		assert.throws(() => makeFlashImage(built({ "bootloader.bin": 0x8001 }), settings), /bootloader/);
		assert.throws(() => makeFlashImage(work, settings), /Build produced no bootloader\.bin/);
		assert.throws(() => settingsPartition({ token: "t".repeat(4000) }), /token/);
	});

	test("is made from the build of the board in QEMU", () => {
		assert.match(
			binFolder("/out", "qemu/dev-1").replaceAll("\\", "/"),
			/^\/out\/bin\/esp32\/qemu\/release\/device$/,
		);
	});
});

test("the script lists all missing requirements in one message, without a token", () => {
	const words = ["dev-1", "--gateway", "ws://127.0.0.1:8080/device", "token=t0p-s3cret"];
	const { status, stdout, stderr } = spawnSync(
		process.execPath,
		[...entryPoint("scripts/qemu.ts"), ...words],
		{
			cwd: projectFolder,
			env: { PATH: "/nowhere", MODDABLE: "/nowhere", IDF_TOOLS_PATH: "/nowhere" },
			encoding: "utf8",
		},
	);
	assert.equal(status, 1);
	assert.match(stderr, /contains no Moddable SDK/);
	assert.match(stderr, /IDF_PATH is not set/);
	assert.match(stderr, /hosts\/qemu\/model\/README\.md/);
	assert.doesNotMatch(stdout + stderr, /t0p-s3cret/);
});
