/**
 * Secrets of one device belong to its settings and to nothing else that leaves this computer: the same image can be
 * given to anyone.
 */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, describe, test } from "node:test";
import { buildBoard } from "../../../scripts/boards/build.js";
import { flashBoard } from "../../../scripts/boards/flash-board.js";
import { findIdf } from "../../../scripts/boards/tools.js";
import { isProblem, thisMachine } from "../../../scripts/command-line/machine.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { findSdk, type ModdableSdk } from "../../../scripts/moddable/sdk.js";
import { entryPoint } from "../../support/entry-point.js";
import { writeLinkMap } from "../../support/linked-build.js";
import { sdkOrReason, testMachine } from "../../support/programs.js";
import { readStrings } from "./nvs/reader.js";

const work = mkdtempSync(join(tmpdir(), "secrets-"));
after(() => rmSync(work, { recursive: true, force: true }));

const given = {
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
	return Object.entries(given).flatMap(([name, value]) =>
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
	for (const name of namesOfTokens) process.env[name] = given.token;
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
				DEVICE_TOKEN: given.token,
				MONITOR_TOKEN: given.token,
			},
		},
	);
	assert.equal(status, 0, stderr);
	const images = filesIn(releases).filter((file) => /firmware-v1\.2\.3\.bin$/.test(file));
	assert.equal(images.length, 2);
	for (const file of filesIn(releases)) assert.deepEqual(found(readFileSync(file)), [], file);
});

/** Calls of a tool and their results. */
interface Bench {
	readonly sdk: ModdableSdk;
	readonly outputFolder: string;
	/** Arguments and environment of each call of mcconfig. */
	readonly builds: () => Buffer;
	/** Arguments of esptool's only call. */
	readonly esptool: () => readonly string[];
	/** Resulting flash content by address. */
	readonly written: () => Map<string, Buffer>;
}

/**
 * Creates an SDK whose mcconfig writes its arguments and environment into the image, and an esptool that writes to a
 * folder and rejects a file that others may read.
 */
function fakeTools(esptoolStatus = 0): Bench {
	const folder = mkdtempSync(join(work, "tools-"));
	const script = (path: string, text: string) => {
		mkdirSync(join(path, ".."), { recursive: true });
		writeFileSync(path, `#!/bin/sh\n${text}`);
		chmodSync(path, 0o755);
	};
	const head = Buffer.alloc(0x160);
	head.write("DAG1", 0x120, "latin1");
	head.write("DEV-1", 0x128, "latin1");
	head.write("1.2.3", 0x138, "latin1");
	writeFileSync(join(folder, "head"), head);
	const moddable = join(folder, "moddable");
	mkdirSync(join(moddable, "tools"), { recursive: true });
	writeFileSync(join(moddable, "tools", "mcconfig.js"), "");
	for (const desktop of ["lin", "mac"])
		script(
			join(moddable, "build", "bin", desktop, "release", "mcconfig"),
			`{ echo "$@"; env; } >> "${folder}/builds"
while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done
bin="$out/bin/esp32/dev-1/release/device"
mkdir -p "$bin"
for part in bootloader partition-table ota_data_initial; do echo $part > "$bin/$part.bin"; done
cat "${folder}/head" "${folder}/builds" > "$bin/xs_esp32.bin"
host=dev-1
${writeLinkMap}
`,
		);
	script(
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
	const PATH = [join(folder, "bin"), process.env.PATH].join(delimiter);
	const machine = thisMachine({ ...process.env, MODDABLE: moddable, PATH });
	const sdk = findSdk(machine, { isAnyVersion: true });
	assert.ok(!isProblem(sdk), "problem" in sdk ? sdk.problem : "");
	return {
		sdk,
		outputFolder: join(folder, "out"),
		builds: () => readFileSync(join(folder, "builds")),
		esptool: () => readFileSync(join(folder, "esptool"), "utf8").trimEnd().split("\n"),
		written: () =>
			new Map(
				readdirSync(join(folder, "flash")).map((name) => [name, readFileSync(join(folder, "flash", name))]),
			),
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
	const flash = (bench: Bench, settings: typeof given | undefined) =>
		flashBoard({ ...options, ...bench, settings, onBuilt: () => {} });

	test("writes the settings to their partition and none of them to the image", async () => {
		const bench = await withTokens(async () => {
			const tools = fakeTools();
			await flash(tools, given);
			return tools;
		});
		const written = bench.written();
		assert.deepEqual([...written.keys()].sort(), ["0x0", "0x10000", "0x20000", "0x8000", "0x9000"]);
		const settings = written.get("0x10000") ?? Buffer.alloc(0);
		assert.equal(settings.byteLength, 0x10000);
		assert.deepEqual(readStrings(settings, "settings"), new Map(Object.entries(given)));
		assert.deepEqual(found(settings), Object.keys(given));
		written.delete("0x10000");
		for (const [address, bytes] of written) assert.deepEqual(found(bytes), [], address);
		assert.equal(written.get("0x20000")?.toString("latin1", 0x128, 0x12d), "DEV-1");
		assert.equal(written.get("0x0")?.toString(), "bootloader\n");
		assert.equal(written.get("0x9000")?.toString(), "ota_data_initial\n");
	});

	test("passes settings neither to mcconfig nor to esptool, by arguments or environment", async () => {
		const bench = await withTokens(async () => {
			const tools = fakeTools();
			await flash(tools, given);
			return tools;
		});
		assert.deepEqual(found(bench.builds()), []);
		assert.match(bench.builds().toString(), /^-m -p esp32:\.\/hosts\/dev-1 -t build -o \S+ manifest\.json\n/);
		const words = bench.esptool();
		assert.deepEqual(found(Buffer.from(words.join(" "))), []);
		assert.equal(
			words.slice(0, 9).join(" "),
			"-m esptool --chip esp32s3 --port /dev/ttyACM9 --baud 921600 write-flash",
		);
	});

	test("leaves no file with the settings behind, even if it fails", async () => {
		for (const status of [0, 2]) {
			const bench = fakeTools(status);
			const flashed = flash(bench, given);
			await (status === 0 ? flashed : assert.rejects(flashed, /Flashing is incomplete/));
			assert.equal(existsSync(join(bench.outputFolder, "bin")), true);
			for (const file of filesIn(bench.outputFolder)) assert.deepEqual(found(readFileSync(file)), [], file);
		}
	});

	test("writes only the firmware without settings", async () => {
		const bench = fakeTools();
		await flash(bench, undefined);
		assert.deepEqual([...bench.written().keys()].sort(), ["0x0", "0x20000", "0x8000", "0x9000"]);
	});
});

const { sdk: installed, reason } = sdkOrReason();
const idf = findIdf(testMachine);

test("an ESP-IDF image contains no secret of the build computer", {
	skip: reason ?? (isProblem(idf) && idf.problem),
	timeout: 30 * 60_000,
}, async () => {
	assert.ok(installed, "ESP-IDF is not installed");
	const image = await withTokens(() =>
		buildBoard({
			sdk: installed,
			model: "DEV-1",
			version: "1.2.3",
			releaseKeys: "",
			outputFolder: join(projectFolder, ".cache", "esp32"),
			onOutput: () => {},
		}),
	);
	assert.ok(statSync(image).size > 500_000, `${statSync(image).size} bytes`);
	assert.deepEqual(found(readFileSync(image)), []);
});
