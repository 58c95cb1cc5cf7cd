import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { buildBoard, writeSdkconfig } from "../../../scripts/boards/build.js";
import { readArguments } from "../../../scripts/boards/flash-arguments.js";
import { findPort, findPorts } from "../../../scripts/boards/tools.js";
import { UsageError } from "../../../scripts/command-line/command.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { entryPoint } from "../../support/entry-point.js";
import { withEnvironment } from "../../support/environment.js";
import { fakeMachine } from "../../support/fake-machine.js";
import { type FakeSdk, fakeSdk } from "../../support/fake-sdk.js";

const work = mkdtempSync(join(tmpdir(), "flash-"));
after(() => rmSync(work, { recursive: true, force: true }));

const complete = [
	"dev-1",
	"ssid=home",
	"password=correct horse",
	"gateway=ws://192.168.1.20:8080/device",
	"token=t0p-s3cret",
];
/** Parses arguments on a computer without gateway data. @throws UsageError with all problems */
function read(words: readonly string[], DEVICE_TOKEN = "") {
	const { isAnyVersion: _, ...options } = withEnvironment({ DATA_DIR: work, DEVICE_TOKEN }, () =>
		readArguments(words),
	);
	return options;
}

function problemsOf(words: readonly string[]): readonly string[] {
	try {
		read(words);
	} catch (error) {
		if (error instanceof UsageError) return error.message.split("\n");
		throw error;
	}
	return [];
}
/** Complete command line with some words replaced. */
function withWords(...others: string[]): string[] {
	const key = (word: string) => word.split("=")[0];
	return [...complete.filter((word) => !others.some((other) => key(other) === key(word))), ...others];
}

describe("arguments of npm run flash", () => {
	test("set the board's settings", () => {
		const { model, settings, port } = read(complete);
		assert.equal(model, "DEV-1");
		assert.deepEqual(settings, {
			ssid: "home",
			password: "correct horse",
			gateway: "ws://192.168.1.20:8080/device",
			token: "t0p-s3cret",
		});
		assert.equal(port, undefined);
	});

	test("may name a second network, whose password requires its name", () => {
		const second = ["ssid2=garden shed", "password2=battery staple"];
		const { settings } = read([...complete, ...second]);
		assert.deepEqual([settings?.ssid2, settings?.password2], ["garden shed", "battery staple"]);
		assert.match(problemsOf(withWords("password2=battery staple")).join(), /password2=… requires ssid2=…/);
		assert.match(problemsOf(withWords("ssid2=shed", "password2=short")).join(), /8 to 63 characters/);
		assert.match(
			problemsOf(withWords(`ssid2=${"é".repeat(17)}`)).join(),
			/second Wi-Fi network must have at most 32 bytes/,
		);
	});

	test("keep the board's settings with `keep`, which excludes other arguments", () => {
		const kept = { model: "PROTO-1", settings: undefined, port: "/dev/ttyACM0" };
		assert.deepEqual(read(["proto-1", "keep", "port=/dev/ttyACM0"]), kept);
		assert.match(problemsOf(["dev-1", "keep", "ssid=home"]).join(), /keep cannot be combined with settings/);
		assert.match(problemsOf(["dev-1"]).join(), /Specify ssid=…/);
	});

	test("accept an empty password for an open network", () => {
		const { settings } = read(withWords("password="));
		assert.ok(settings && !("password" in settings), "the settings have a password");
	});

	test("are trimmed, except for names and passwords of networks", () => {
		const { settings } = read(
			withWords("token=\ufefft0p-s3cret\r", "ssid= home ", "password= correct horse "),
		);
		assert.equal(settings?.token, "t0p-s3cret");
		assert.deepEqual([settings?.ssid, settings?.password], [" home ", " correct horse "]);
	});

	test("are validated together: all missing ones are named", () => {
		const problems = problemsOf([]).join("\n");
		for (const word of ["model", "ssid=", "password=", "DEVICE_TOKEN"])
			assert.match(problems, new RegExp(word));
		assert.match(problems, /start one \(npm start\), which creates/);
	});

	test("may omit the gateway, which the board then discovers", () => {
		const { settings } = read(complete.filter((word) => !word.startsWith("gateway=")));
		assert.deepEqual(settings, { ssid: "home", password: "correct horse", token: "t0p-s3cret" });
	});

	test("are rejected for an unknown model", () => {
		assert.match(problemsOf(["dev-2", ...complete.slice(1)]).join(), /dev-1 or proto-1.*, not dev-2/);
	});

	test("are rejected for a gateway that no board can reach", () => {
		for (const host of ["localhost", "127.0.0.1", "0.0.0.0"])
			assert.match(problemsOf(withWords(`gateway=ws://${host}:8080/device`)).join(), /cannot reach/);
	});

	test("require a valid certificate authority file for wss", () => {
		const secure = withWords("gateway=wss://gateway.example/device");
		assert.match(problemsOf(secure).join(), /wss requires ca=/);
		const file = join(work, "no.pem");
		writeFileSync(file, "no certificate");
		assert.match(problemsOf([...secure, `ca=${file}`]).join(), /is not a certificate/);
	});

	test("are not printed if unknown, because one may be half of a password", () => {
		const [problem = ""] = problemsOf([...complete, "h0rse", "passwd=battery"]);
		assert.match(problem, /Unknown argument 6\./);
		assert.doesNotMatch(problemsOf([...complete, "h0rse", "passwd=battery"]).join(), /h0rse|battery/);
		const short = problemsOf([...complete, "-h0rse"]);
		assert.equal(short.length, 1, "one problem per word");
		assert.doesNotMatch(short.join(), /h0rse/);
	});
});

describe("requirements of flashing", () => {
	test("include one serial port, or the one that was named", () => {
		const machineWith = (...names: readonly string[]) =>
			fakeMachine({ files: Object.fromEntries(names.map((name) => [`/dev/${name}`, ""])) });
		const several = machineWith("ttyUSB1", "ttyACM0", "ttyS0", "tty");
		assert.deepEqual(findPorts(several), ["/dev/ttyACM0", "/dev/ttyUSB1"]);
		assert.equal(findPort(machineWith("ttyACM0", "ttyS0")), "/dev/ttyACM0");
		assert.equal(findPort(several, "/dev/ttyUSB1"), "/dev/ttyUSB1");
		const choice = /Several serial ports found.*port=\/dev\/ttyACM0 or port=\/dev\/ttyUSB1/;
		assert.throws(() => findPort(several), choice);
		assert.throws(() => findPort(machineWith()), /No board connected by USB.*port=/);
		assert.throws(() => findPort(several, "/dev/ttyACM9"), /Serial port \/dev\/ttyACM9 not found/);
		assert.throws(() => findPort(machineWith("ttyACM0!")), /No permission to open \/dev\/ttyACM0/);
	});

	test("are listed by the script in one message, with the Moddable SDK and without any secret", () => {
		const { status, stdout, stderr } = spawnSync(
			process.execPath,
			[...entryPoint("scripts/flash.ts"), ...complete, "port=/nowhere/ttyACM0"],
			{ cwd: projectFolder, env: { PATH: process.env.PATH, MODDABLE: "/nowhere" }, encoding: "utf8" },
		);
		assert.equal(status, 1);
		assert.match(stderr, /contains no Moddable SDK.*npx xs-dev@/);
		assert.match(stderr, /IDF_PATH is not set/);
		assert.match(stderr, /Serial port \/nowhere\/ttyACM0 not found/);
		assert.doesNotMatch(stdout + stderr, /correct horse|t0p-s3cret/);
	});
});

function imageOf(model: string, version: string): Buffer {
	const bytes = Buffer.alloc(4096);
	bytes.write("DAG1", 0x120, "latin1");
	bytes.write(model, 0x128, "latin1");
	bytes.write(version, 0x138, "latin1");
	return bytes;
}

/** @param more shell lines of mcconfig */
function sdkWith(image: Buffer, more = ""): FakeSdk {
	return fakeSdk({ folder: mkdtempSync(join(work, "sdk-")), images: { "dev-1": image }, more });
}

const posix = { skip: process.platform === "win32" ? "needs a shell" : undefined };

describe("build for a board", posix, () => {
	const outputFolder = join(work, "out");
	const common = {
		model: "DEV-1",
		version: "1.2.3",
		releaseKeys: "",
		outputFolder,
		onOutput: () => {},
	} as const;

	test("passes a sdkconfig of that version to mcconfig", async () => {
		const { sdk, calls } = sdkWith(imageOf("DEV-1", "1.2.3"));
		const image = await buildBoard({ ...common, sdk });
		assert.ok(existsSync(image), `${image} does not exist`);
		assert.match(
			calls(),
			/-m -p esp32:\.\/hosts\/dev-1 -t build -o \S+ manifest\.json SDKCONFIGPATH=\S+sdkconfig\n/,
		);
		const sdkconfig = readFileSync(join(outputFolder, "sdkconfig", "sdkconfig.defaults"), "utf8");
		assert.deepEqual(sdkconfig.match(/^CONFIG_APP_PROJECT_VER=.*$/gm), ['CONFIG_APP_PROJECT_VER="1.2.3"']);
	});

	test("compiles in the release keys, and rejects an image without them", async () => {
		const [releaseKeys, others] = ["ab".repeat(64), "cd".repeat(64)];
		const image = imageOf("DEV-1", "1.2.3");
		image.write(releaseKeys, 0x400, "latin1");
		const { sdk, calls } = sdkWith(image);
		await buildBoard({ ...common, sdk, releaseKeys });
		assert.match(calls(), new RegExp(` manifest\\.json release_keys=${releaseKeys} SDKCONFIGPATH`));
		await assert.rejects(buildBoard({ ...common, sdk, releaseKeys: others }), /without the release keys/);
	});

	test("rejects an image without a C source of the manifests, and names it", async () => {
		const source = join(projectFolder, "hosts", "esp32", "orphan.c");
		for (const [more, message] of [
			[
				`echo '$(TMP_DIR)/orphan.c.o: ${source} $(HEADERS)' >> "$build/makefile"`,
				/hosts\/esp32\/orphan\.c not linked/,
			],
			['rm "$bin/xs_esp32.map"', /produced no link map/],
		] as const) {
			const { sdk } = sdkWith(imageOf("DEV-1", "1.2.3"), more);
			await assert.rejects(buildBoard({ ...common, sdk }), message);
		}
	});

	test("rejects an image of another model or version, and a merged one", async () => {
		for (const [image, message] of [
			[imageOf("PROTO-1", "1.2.3"), /instead of DEV-1 1\.2\.3/],
			[imageOf("DEV-1", "1.2.2"), /instead of DEV-1 1\.2\.3/],
			[Buffer.alloc(8192, 0xff), /without firmware descriptor/],
		] as const)
			await assert.rejects(buildBoard({ ...common, sdk: sdkWith(image).sdk }), message);
	});
});

describe("version", () => {
	test("is rejected if the image cannot hold it or it would break the sdkconfig", () => {
		for (const version of ["", "1".repeat(32), "1.0.0 beta", '1"', "1=2"])
			assert.throws(() => writeSdkconfig(version, join(work, "rejected"), "dev-1"), /Invalid version/);
	});
});
