/** Steps of `npm run qemu` that run without ESP-IDF and its QEMU: arguments, requirements, flash and start. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { binFolder, writeSdkconfig } from "../../../scripts/boards/build.js";
import {
	type BuiltFirmware,
	makeFlashImage,
	readPartitions,
	settingsPartition,
	withSettings,
} from "../../../scripts/boards/flash-image.js";
import { UsageError } from "../../../scripts/command-line/command.js";
import { describeProblem, isProblem, thisMachine } from "../../../scripts/command-line/machine.js";
import { Problems } from "../../../scripts/command-line/problems.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { type QemuArguments, readArguments } from "../../../scripts/qemu/arguments.js";
import { findQemu } from "../../../scripts/qemu/tools.js";
import { entryPoint } from "../../support/entry-point.js";
import { withEnvironment } from "../../support/environment.js";
import { readStrings } from "../esp32/nvs/reader.js";

const work = mkdtempSync(join(tmpdir(), "qemu-"));
after(() => rmSync(work, { recursive: true, force: true }));

/** Parses arguments on a computer without gateway data. @throws UsageError with all problems */
function readWith(DEVICE_TOKEN: string, words: readonly string[]): QemuArguments {
	const problems = new Problems();
	const given = withEnvironment({ DATA_DIR: work, DEVICE_TOKEN }, () => readArguments(words, problems));
	if (problems.areFound) throw problems.asError();
	return given;
}
const read = (...words: string[]) => readWith("", words);

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
			const { settings, remarks, mode } = read(...words);
			assert.deepEqual(settings, expected);
			assert.deepEqual(remarks, []);
			assert.equal(mode, "run");
		}
	});

	test("default to the discovered token", () => {
		const words = ["--gateway", "ws://192.168.1.20:8080/device"];
		assert.match(
			problemsOf(...words),
			/Specify token=…, since no device token was found\. .*start one \(npm start\)/,
		);
		assert.equal(readWith("the-token-in-use", words).settings?.token, "the-token-in-use");
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
		assert.match(said, /Unknown argument 1\./);
		assert.match(said, /Unknown argument 2\./);
		assert.match(said, /sntp= has no value/);
		assert.match(said, /must be ws:/);
		assert.doesNotMatch(said, /s3cret|tokn/);
		assert.match(problemsOf("--gateway"), /gateway= has no value/);
		assert.match(problemsOf(), /Specify gateway=/);
	});

	test("continue with the present or other settings by `keep`, but not with an incomplete set", () => {
		const { mode, settings } = read("--keep");
		assert.deepEqual([mode, settings], ["keep", undefined]);
		const changed = read("keep", "--gateway", "ws://127.0.0.1:9090/device", "token=t");
		assert.equal(changed.mode, "keep");
		assert.deepEqual(changed.settings, {
			ssid: "qemu",
			gateway: "ws://10.0.2.2:9090/device",
			token: "t",
		});
		assert.match(problemsOf("keep", "token=t"), /Specify gateway=/);
		assert.match(problemsOf("keep", "version=1.1.0"), /keep does not build/);
	});
});

/** Creates a QEMU that lists machines and otherwise prints its arguments. */
function fakeQemu(folder: string, machines: string): string {
	mkdirSync(folder, { recursive: true });
	const path = join(folder, "qemu-system-xtensa");
	writeFileSync(path, `#!/bin/sh\nif [ "$1" = -machine ]; then printf '${machines}'; else echo "$@"; fi\n`);
	chmodSync(path, 0o755);
	return path;
}

describe("QEMU", { skip: process.platform === "win32" ? "needs a shell" : undefined }, () => {
	const none = join(work, "nothing");
	const find = (PATH: string, IDF_TOOLS_PATH = none) => findQemu(thisMachine({ PATH, IDF_TOOLS_PATH }));
	const problemOf = (found: ReturnType<typeof findQemu>) => (isProblem(found) ? describeProblem(found) : "");

	test("reports how to install it if it is missing", () => {
		assert.match(problemOf(find(none)), /not found\. Fix: .*idf_tools\.py install qemu-xtensa/);
	});

	test("reports that a distribution's QEMU has no ESP32", () => {
		const folder = join(work, "debian");
		fakeQemu(folder, "Supported machines are:\\nkc705  kc705 EVB\\nsim  sim machine\\n");
		assert.match(problemOf(find(folder)), /does not support esp32: it is not Espressif's/);
	});

	test("finds Espressif's QEMU on the PATH after another one, and at ESP-IDF's install location", () => {
		const machines = "Supported machines are:\\nesp32  Espressif ESP32 machine\\n";
		const debian = join(work, "debian");
		const path = fakeQemu(join(work, "espressif"), machines);
		assert.deepEqual(find(`${debian}:${join(work, "espressif")}`), { what: path });
		const tools = join(work, "tools-path");
		const installed = fakeQemu(join(tools, "tools", "qemu-xtensa", "esp_9", "qemu", "bin"), machines);
		assert.deepEqual(find(none, tools), { what: installed });
	});
});

describe("flash in QEMU", () => {
	const partitionsFile = join(projectFolder, "hosts", "qemu", "sdkconfig", "partitions.csv");
	const flashBytes = 4 * 1024 * 1024;
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

	const build = (sizes?: Parameters<typeof built>[0]): BuiltFirmware => ({
		chip: "esp32",
		folder: built(sizes),
		partitionsFile,
	});
	const settings = settingsPartition(partitionsFile, { ssid: "qemu", token: "t0p-s3cret" });

	test("contains each part at its offset and is erased around them", () => {
		const flash = makeFlashImage(build(), settings, flashBytes);
		assert.equal(flash.byteLength, flashBytes);
		for (const [offset, value] of [
			[0x1000, 1],
			[0x8000, 2],
			[0x9000, 3],
			[0x20000, 4],
		] as const) {
			assert.equal(flash[offset - 1], 0xff);
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

	test("gets other settings without any other change", () => {
		const firmware = build();
		const used = makeFlashImage(firmware, settings, flashBytes);
		used.fill(5, 0x200000, 0x210000);
		const other = settingsPartition(partitionsFile, { ssid: "qemu", token: "another" });
		const changed = withSettings(used, firmware, other);
		assert.deepEqual(changed.subarray(0x10000, 0x20000), other.bytes);
		assert.deepEqual(changed.subarray(0, 0x10000), used.subarray(0, 0x10000));
		assert.deepEqual(changed.subarray(0x20000), used.subarray(0x20000));
	});

	test("is rejected if it has another layout, because settings would overwrite other data", () => {
		const firmware = build();
		const used = makeFlashImage(firmware, settings, flashBytes);
		used[0x8004] = 0;
		assert.throws(
			() => withSettings(used, firmware, settings),
			/partition table of the kept flash differs .* without keep/,
		);
	});

	test("rejects parts that do not fit or are missing", () => {
		const [slot] = readPartitions("ota_0, app, ota_0, 0x20000, 0x1e0000");
		assert.equal(slot?.size, 0x1e0000);
		assert.throws(
			() => makeFlashImage(build({ "xs_esp32.bin": 0x1e0001 }), settings, flashBytes),
			/xs_esp32\.bin has 1966081 bytes, at most 1966080 are available/,
		);
		assert.throws(
			() => makeFlashImage(build({ "bootloader.bin": 0x7001 }), settings, flashBytes),
			/bootloader/,
		);
		assert.throws(
			() => makeFlashImage({ chip: "esp32", folder: work, partitionsFile }, settings, flashBytes),
			/Build produced no bootloader\.bin/,
		);
		assert.throws(() => settingsPartition(partitionsFile, { token: "t".repeat(4000) }), /token/);
	});

	test("is made from this host's build with this host's sdkconfig", () => {
		assert.match(
			binFolder("/out", "qemu").replaceAll("\\", "/"),
			/^\/out\/bin\/esp32\/qemu\/release\/device$/,
		);
		writeSdkconfig("1.2.3", join(work, "sdkconfig"), "qemu");
		const line = spawnSync("grep", ["-c", "OPENETH=y", join(work, "sdkconfig", "sdkconfig.defaults")]);
		assert.equal(line.stdout.toString().trim(), "1");
	});
});

test("the script lists all missing requirements in one message, without a token", () => {
	const words = ["--gateway", "ws://127.0.0.1:8080/device", "token=t0p-s3cret"];
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
	assert.match(stderr, /idf_tools\.py install qemu-xtensa/);
	assert.doesNotMatch(stdout + stderr, /t0p-s3cret/);
});
