/**
 * Secrets of one device belong to its settings and to nothing else that leaves this computer: the same image can be
 * given to anyone.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, describe, test } from "node:test";
import { models } from "../../../device/protocol/models.js";
import { flashBoard } from "../../../scripts/boards/flash-board.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { entryPoint } from "../../support/entry-point.js";
import { fakeSdk, writeScript } from "../../support/fake-sdk.js";
import { readStrings } from "./nvs/reader.js";

const work = mkdtempSync(join(tmpdir(), "secrets-"));
after(() => rmSync(work, { recursive: true, force: true }));

const deviceSettings = {
	ssid: "network-of-a-person",
	password: "correct horse battery",
	gateway: "wss://gateway.of-a-person.example/device",
	token: "token-of-a-gateway-0123456789",
	ca: "MIIBauthority0123456789",
	sntp: "time.of-a-person.example",
};
const namesOfTokens = ["DEVICE_TOKEN", "MONITOR_TOKEN"] as const;

/** Searches a file as `strings` does. @returns names of the secrets found in ASCII or UTF-16 */
function found(bytes: Uint8Array): readonly string[] {
	const content = Buffer.from(bytes);
	return Object.entries(deviceSettings).flatMap(([name, value]) =>
		content.includes(value) || content.includes(Buffer.from(value, "utf16le")) ? [name] : [],
	);
}

function filesIn(folder: string): readonly string[] {
	return readdirSync(folder, { recursive: true, withFileTypes: true, encoding: "utf8" })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name));
}

/** Runs with tokens in the environment, as on a gateway's computer. */
async function withTokens<T>(action: () => Promise<T>): Promise<T> {
	const before = namesOfTokens.map((name) => process.env[name]);
	for (const name of namesOfTokens) process.env[name] = deviceSettings.token;
	try {
		return await action();
	} finally {
		for (const [index, name] of namesOfTokens.entries()) {
			const value = before[index];
			if (value === undefined) delete process.env[name];
			else process.env[name] = value;
		}
	}
}

test("a release for virtual devices contains no secret of the build computer", () => {
	const releases = join(work, "releases");
	const { status, stderr } = spawnSync(
		process.execPath,
		[...entryPoint("scripts/release.ts"), "1.2.3", "--allow-dirty"],
		{
			cwd: projectFolder,
			encoding: "utf8",
			env: {
				PATH: process.env.PATH,
				MODDABLE: join(work, "no SDK"),
				RELEASES_DIR: releases,
				DEVICE_TOKEN: deviceSettings.token,
				MONITOR_TOKEN: deviceSettings.token,
			},
		},
	);
	assert.equal(status, 0, stderr);
	const images = filesIn(releases).filter((file) => /firmware-v1\.2\.3\.bin$/.test(file));
	assert.equal(images.length, models.length);
	for (const file of filesIn(releases)) assert.deepEqual(found(readFileSync(file)), [], file);
});

/**
 * Tools that record what they get: mcconfig writes its arguments and environment into the image, and esptool, which
 * rejects a file that others may read, writes to a folder.
 */
function fakeTools(esptoolStatus = 0) {
	const folder = mkdtempSync(join(work, "tools-"));
	const image = Buffer.alloc(0x160);
	image.write("DAG1", 0x120, "latin1");
	image.write("DEV-1", 0x128, "latin1");
	image.write("1.2.3", 0x138, "latin1");
	writeScript(
		join(folder, "bin", "python"),
		`for word; do echo "$word"; done > "${folder}/esptool"
mkdir "${folder}/flash"
while [ "$1" != write-flash ]; do shift; done
shift
while [ $# -gt 1 ]; do
	case "$2" in *settings*) ls -l "$2" | grep -q '^-rw-------' || exit 9;; esac
	cp "$2" "${folder}/flash/$1"
	shift 2
done
exit ${esptoolStatus}
`,
	);
	const more = 'env >> "$folder/calls"\ncat "$folder/calls" >> "$bin/xs_esp32.bin"';
	const environment = { PATH: [join(folder, "bin"), process.env.PATH].join(delimiter) };
	const flash = join(folder, "flash");
	return {
		...fakeSdk({ folder, images: { "dev-1": image }, more, environment }),
		outputFolder: join(folder, "out"),
		/** Arguments of esptool's only call. */
		esptool: () => readFileSync(join(folder, "esptool"), "utf8").trimEnd().split("\n"),
		/** Resulting flash content by address. */
		written: () => new Map(readdirSync(flash).map((name) => [name, readFileSync(join(flash, name))])),
	};
}

const posix = { skip: process.platform === "win32" ? "needs a shell" : undefined };

describe("flashing a board", posix, () => {
	const options = {
		model: "DEV-1",
		version: "1.2.3",
		releaseKeys: "",
		port: "/dev/ttyACM9",
		onOutput: () => {},
	} as const;
	const flash = (tools: ReturnType<typeof fakeTools>, settings: typeof deviceSettings | undefined) =>
		flashBoard({ ...options, ...tools, settings, onBuilt: () => {} });

	test("writes the settings to their partition, and none of them to the image, mcconfig or esptool's arguments", async () => {
		const tools = await withTokens(async () => {
			const tools = fakeTools();
			await flash(tools, deviceSettings);
			return tools;
		});
		const written = tools.written();
		assert.deepEqual([...written.keys()].sort(), ["0x0", "0x10000", "0x20000", "0x8000", "0x9000"]);
		const settings = written.get("0x10000") ?? Buffer.alloc(0);
		assert.equal(settings.byteLength, 0x10000);
		assert.deepEqual(readStrings(settings, "settings"), new Map(Object.entries(deviceSettings)));
		assert.deepEqual(found(settings), Object.keys(deviceSettings));
		written.delete("0x10000");
		for (const [address, bytes] of written) assert.deepEqual(found(bytes), [], address);
		assert.equal(written.get("0x20000")?.toString("latin1", 0x128, 0x12d), "DEV-1");
		assert.equal(written.get("0x0")?.toString(), "bootloader\n");
		assert.equal(written.get("0x9000")?.toString(), "ota_data_initial\n");
		assert.match(tools.calls(), /^PATH=/m, "its environment");
		assert.deepEqual(found(Buffer.from(tools.calls())), []);
		const words = tools.esptool();
		assert.deepEqual(found(Buffer.from(words.join(" "))), []);
		assert.equal(
			words.slice(0, 9).join(" "),
			"-m esptool --chip esp32s3 --port /dev/ttyACM9 --baud 921600 write-flash",
		);
	});

	test("leaves no file with the settings behind, even if it fails", async () => {
		for (const status of [0, 2]) {
			const tools = fakeTools(status);
			const flashed = flash(tools, deviceSettings);
			await (status === 0 ? flashed : assert.rejects(flashed, /Flashing is incomplete/));
			assert.equal(existsSync(join(tools.outputFolder, "bin")), true);
			for (const file of filesIn(tools.outputFolder)) assert.deepEqual(found(readFileSync(file)), [], file);
		}
	});

	test("writes only the firmware without settings", async () => {
		const tools = fakeTools();
		await flash(tools, undefined);
		assert.deepEqual([...tools.written().keys()].sort(), ["0x0", "0x20000", "0x8000", "0x9000"]);
	});
});
