import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { findIdf } from "../../scripts/boards/tools.js";
import {
	type Machine,
	requireBuildPath,
	ToolError,
	thisMachine,
	WrongToolError,
} from "../../scripts/command-line/machine.js";
import { runChecks } from "../../scripts/doctor/report.js";
import { type FindOptions, findSdk } from "../../scripts/moddable/sdk.js";
import {
	activateIdf,
	idfVersion,
	installIdf,
	installSdk,
	sdkVersion,
	xsDevVersion,
} from "../../scripts/moddable/versions.js";
import { temporaryDirectory } from "../support/cleanup.js";
import { callCommand } from "../support/command-line.js";
import { type FakeMachineOptions, fakeMachine, idfFiles, sdkFiles } from "../support/fake-machine.js";

const sdk = "/home/ann/.local/share/moddable";
const idf = "/home/ann/.espressif/v6.0.2/esp-idf";
const project = "/home/ann/device-gateway";
const python = "/home/ann/.espressif/tools/python/v6.0.2/venv";

/** Computer that meets all requirements. */
const complete = {
	files: {
		...sdkFiles(sdk),
		...idfFiles(idf),
		[`${project}/node_modules/typescript/package.json`]: '{"version": "7.0.2"}',
		"/usr/bin/cc": "cc 12.2.0\nCopyright",
		"/usr/bin/make": "GNU Make 4.3\n",
		"/usr/bin/cmake": "",
		"/usr/bin/ninja": "",
		"/usr/include/alsa/asoundlib.h": "",
		[`${python}/bin/python`]: "",
		"/tools/xtensa/bin/xtensa-esp32s3-elf-gcc": "",
		"/dev/ttyACM0": "",
	},
	environment: {
		DISPLAY: ":0",
		IDF_PATH: idf,
		IDF_PYTHON_ENV_PATH: python,
		PATH: `/usr/bin:/tools/xtensa/bin:${idf}/tools`,
	},
} as const;

function without(path: string): Record<string, string> {
	return Object.fromEntries(Object.entries(complete.files).filter(([file]) => file !== path));
}

const inFolder = (folder: string) => ({
	[`${folder}/node_modules/typescript/package.json`]: '{"version": "7.0.2"}',
});

async function reportOf(machine: FakeMachineOptions, asked?: "demo" | "simulator" | "board") {
	const { lines, isComplete } = await runChecks(fakeMachine(machine), asked);
	return { isComplete, text: lines.join("\n") };
}

describe("npm run doctor", () => {
	test("lists found tools with version and path, and reports that all is ready", async () => {
		const { isComplete, text } = await reportOf(complete);
		assert.equal(isComplete, true, text);
		assert.doesNotMatch(text, /✘/);
		assert.match(text, new RegExp(`✔ Moddable SDK +${sdkVersion}, ${sdk}\n`));
		assert.match(text, new RegExp(`✔ ESP-IDF +v${idfVersion}, ${idf}\n`));
		assert.match(text, /npm run demo: ready\nnpm run simulator: ready\nnpm run flash: ready$/);
	});

	test("lists everything on an empty computer, and only a compiler for the demo", async () => {
		const { isComplete, text } = await reportOf({});
		assert.equal(isComplete, false);
		for (const command of ["npm ci", "apt-get install build-essential", installSdk, installIdf, activateIdf])
			assert.ok(text.includes(command), `${command} in ${text}`);
		assert.equal(text.split(activateIdf).length, 2, "requirements included in ESP-IDF are fixed with it");
		const demo = await reportOf({}, "demo");
		assert.doesNotMatch(demo.text, /Moddable|ESP-IDF|serial/);
		assert.match(demo.text, /npm run demo: not ready$/);
		const ready = await reportOf({ ...complete, environment: { PATH: "/usr/bin" } });
		assert.match(ready.text, /npm run demo: ready\nnpm run simulator: not ready\nnpm run flash: not ready$/);
	});

	for (const [what, machine, sentence] of [
		["an old Node", { nodeVersion: "18.19.1" }, /Node 18\.19\.1 is too old.*20 or later[\s\S]*nodejs\.org/],
		[
			"another program on the port",
			{ listening: { 8080: "nginx" } },
			/Another program.*8080[\s\S]*PORT=8081/,
		],
		["no sound headers", { files: without("/usr/include/alsa/asoundlib.h") }, /libasound2-dev/],
		[
			"no compiler for the chip",
			{ files: without("/tools/xtensa/bin/xtensa-esp32s3-elf-gcc") },
			/xtensa-esp32s3-elf-gcc is not/,
		],
		[
			"an SDK without its simulator",
			{ files: without(`${sdk}/build/bin/lin/release/mcsim`) },
			/missing: .*mcsim not found\.[\s\S]*make release/,
		],
		["no Ninja", { files: without("/usr/bin/ninja") }, /ninja is not on the PATH[\s\S]*ninja-build/],
		["no board", { files: without("/dev/ttyACM0") }, /No board connected by USB/],
		[
			"a port without permission",
			{ files: { ...without("/dev/ttyACM0"), "/dev/ttyACM0!": "" } },
			/No permission to open \/dev\/ttyACM0[\s\S]*usermod/,
		],
		[
			"an ESP-IDF without its Python",
			{ files: without(`${python}/bin/python`) },
			/No Python in [\s\S]*install\.sh"? esp32/,
		],
	] as const)
		test(`reports ${what} with a fix`, async () => {
			const { isComplete, text } = await reportOf({ ...complete, ...machine });
			assert.equal(isComplete, false);
			assert.match(text, sentence);
			assert.equal(text.match(/✘/g)?.length, 1, text);
		});

	for (const [name, folder] of [
		["project", "/home/ann/my projects (new)/device-gateway"],
		["Moddable SDK", "/home/ann/R&D/moddable"],
		["ESP-IDF", "/opt/esp:v6/$idf"],
	] as const)
		test(`rejects the path ${folder} of the ${name} for builds with the SDK, but not for the demo`, async () => {
			const { files, environment } = complete;
			const { isComplete, text } = await reportOf({
				files: { ...files, ...sdkFiles(folder), ...idfFiles(folder), ...inFolder(folder) },
				environment: {
					...environment,
					...(name === "Moddable SDK" && { MODDABLE: folder }),
					...(name === "ESP-IDF" && { IDF_PATH: folder }),
				},
				...(name === "project" && { project: folder }),
			});
			assert.equal(isComplete, false);
			assert.match(text, /npm run demo: ready\n.*\nnpm run flash: not ready$/);
			assert.ok(text.includes(`is in ${folder}; the Moddable SDK and ESP-IDF cannot build with`), text);
		});

	test("accepts paths of other scripts", () => {
		for (const folder of ["/home/Jürgen/проекты/gw_2.0-beta+1", "/Users/Ju\u0308rgen/ゲートウェイ"])
			requireBuildPath("It", folder);
		for (const character of ` '"&()$:%#;|<>*?[]{}!=^\\\``)
			assert.throws(
				() => requireBuildPath("It", `/home/a${character}b`),
				/cannot build with ".{1,2}" in a path/,
			);
	});

	test("explains how to install missing packages", async (t) => {
		const folder = await temporaryDirectory(t);
		const file = join(folder, "packages.js");
		await writeFile(file, await readFile("scripts/doctor/packages.js"));
		await writeFile(join(folder, "package.json"), '{"type": "module"}');
		const { status, stderr } = spawnSync(process.execPath, ["--import", file, "doctor.ts"], {
			cwd: folder,
			encoding: "utf8",
		});
		assert.equal(status, 1);
		assert.equal(stderr, "Packages not installed. Run npm ci in the project folder.\n");
	});

	test("accepts a Node version without further fixes, and warns about it", async () => {
		const { isComplete, text } = await reportOf({ ...complete, nodeVersion: "20.19.0" });
		assert.equal(isComplete, true, text);
		assert.match(text, /✔ Node +20\.19\.0, which is no longer maintained; use 22 or 24/);
	});

	test("reports a running gateway and does not require one", async () => {
		const listening = { 8080: '{"status":"ok"}' };
		const { isComplete, text } = await reportOf({ ...complete, listening });
		assert.equal(isComplete, true, text);
		assert.match(text, /✔ gateway +running at http:\/\/127\.0\.0\.1:8080/);
	});

	test("reports on this computer what its commands report", async (t) => {
		const folder = await temporaryDirectory(t);
		const { code, output } = await callCommand("scripts/doctor.ts", ["board"], {
			MODDABLE: folder,
			IDF_PATH: "",
		});
		assert.equal(code, 1);
		assert.match(output, new RegExp(`MODDABLE is ${folder}, which contains no Moddable SDK\\.`));
		const wrong = await callCommand("scripts/doctor.ts", ["boards"]);
		assert.equal(wrong.code, 1);
		assert.match(wrong.output, /Unknown argument "boards"\. Use one of demo, simulator, board/);
	});
});

describe("Moddable SDK", () => {
	const find = (files: Record<string, string>, options: FindOptions = {}) =>
		findSdk(fakeMachine({ files }), options);

	test("of another version is reported with both versions, and moved away first, because xs-dev keeps an existing one", () => {
		const files = sdkFiles(sdk, "10.0.2");
		assert.throws(
			() => find(files),
			new WrongToolError(
				`The Moddable SDK in ${sdk} is 10.0.2; this project requires 8.2.3.`,
				`mv ${sdk} ${sdk}-previous && npx xs-dev@0.30.3 setup --target-branch 8.2.3`,
			),
		);
		const { environment: _, ...found } = find(files, { isAnyVersion: true });
		const tools = `${sdk}/build/bin/lin/release`;
		assert.deepEqual(found, { folder: sdk, version: "10.0.2", desktop: "lin", tools });
	});

	test("from an incomplete build is built by a command that can be pasted", () => {
		const { [`${sdk}/build/bin/lin/release/mcconfig`]: _, ...files } = sdkFiles(sdk);
		assert.throws(
			() => find(files),
			/not built.*cd \/home\/ann\/.local\/share\/moddable\/build\/makefiles\/lin && MODDABLE=/,
		);
	});

	test("without a version in its files is not accepted", () => {
		assert.throws(() => find({ [`${sdk}/tools/mcconfig.js`]: "" }), /of an unknown version/);
	});
});

describe("ESP-IDF", () => {
	const find = (files: Record<string, string>, PATH = `${idf}/tools`) =>
		findIdf(fakeMachine({ files, environment: { IDF_PATH: idf, PATH } }));

	test("of the same series is accepted, and another one is identified by its own files", () => {
		for (const version of ["6.0.0", "6.0.1", idfVersion])
			assert.equal(find(idfFiles(idf, version)), `v${version}, ${idf}`);
		for (const version of ["5.1.2", "6.1.0", "5.5.60"])
			assert.throws(
				() => find(idfFiles(idf, version)),
				new WrongToolError(
					`ESP-IDF in ${idf} is v${version}; this project requires v6.0.`,
					`${installIdf}, then in each terminal: ${activateIdf}`,
				),
			);
	});

	test("that is incompletely cloned or not active in this terminal is not accepted", () => {
		assert.throws(() => find({ [`${idf}/tools/idf.py`]: "" }), /is incomplete/);
		assert.throws(() => find({}), /No ESP-IDF in/);
		assert.throws(() => find(idfFiles(idf), "/usr/bin"), /idf\.py is not on the PATH.*export\.sh/);
	});

	test("that is installed is activated in this terminal instead of installed again", () => {
		for (const [file, fix] of [
			[`/home/ann/esp/esp-idf-v${idfVersion}/export.sh`, `in this terminal: ${activateIdf}`],
			[
				`/home/ann/.espressif/tools/activate_idf_v${idfVersion}.sh`,
				`in this terminal: . ~/.espressif/tools/activate_idf_v${idfVersion}.sh && export PATH="$IDF_PATH/tools:$PATH"`,
			],
		] as const) {
			const files = { [file]: "" };
			assert.throws(
				() => findIdf(fakeMachine({ files })),
				new ToolError("IDF_PATH is not set: ESP-IDF is not active in this terminal.", fix),
			);
			assert.throws(
				() => find({ ...files, ...idfFiles(idf, "5.1.2") }),
				/is v5\.1\.2.*in a new terminal: \. ~/,
			);
		}
	});

	test("of Espressif's installer, whose idf.py is a shell function, is added to the PATH", () => {
		const environment = { IDF_PATH: idf, IDF_PYTHON_ENV_PATH: python, PATH: "/usr/bin" };
		assert.throws(
			() => findIdf(fakeMachine({ files: idfFiles(idf), environment })),
			new WrongToolError(
				"idf.py is not on the PATH.",
				'in this terminal: export PATH="$IDF_PATH/tools:$PATH"',
			),
		);
	});
});

test("flash, qemu, simulator and release reject SDK 10.0.2 and ESP-IDF 5.1.2 with doctor's messages, except with --any-version", async (t) => {
	const folder = await temporaryDirectory(t);
	const [MODDABLE, IDF_PATH] = [join(folder, "moddable"), join(folder, "esp-idf")];
	const desktop = process.platform === "darwin" ? "mac" : "lin";
	const files = { ...sdkFiles(MODDABLE, "10.0.2", desktop), ...idfFiles(IDF_PATH, "5.1.2") };
	for (const [path, content] of Object.entries(files)) {
		await mkdir(dirname(path), { recursive: true });
		await writeFile(path, content);
		await chmod(path, 0o755);
	}
	const PATH = `${join(IDF_PATH, "tools")}:${process.env.PATH}`;
	const environment = { MODDABLE, IDF_PATH, PATH, DISPLAY: "", DEVICE_TOKEN: "device-token-of-the-tests" };
	const machine = thisMachine({ ...process.env, ...environment });
	const problemOf = (find: (machine: Machine) => unknown) => {
		try {
			return find(machine);
		} catch (error) {
			return error instanceof ToolError ? error.problem : error;
		}
	};
	const [ofSdk, ofIdf] = [String(problemOf(findSdk)), String(problemOf(findIdf))];
	assert.match(ofSdk, /is 10\.0\.2; this project requires/);
	assert.match(ofIdf, /is v5\.1\.2; this project requires/);
	const gateway = "gateway=ws://10.0.0.9:8080/device";
	const releasesDir = join(folder, "releases");
	for (const [name, words, sentences] of [
		["flash", ["dev-1", "ssid=a", "password=", gateway, "port=/nowhere"], [ofSdk, ofIdf]],
		["qemu", ["dev-1", "build", "version=not a version"], [ofSdk, ofIdf]],
		["simulator", ["dev-1", gateway], [ofSdk]],
		["release", ["1.0.0", "--allow-dirty"], [ofSdk]],
	] as const)
		for (const more of [[], ["--any-version"]]) {
			const own = { ...environment, RELEASES_DIR: `${releasesDir}${more.length}` };
			const { output } = await callCommand(`scripts/${name}.ts`, [...words, ...more], own);
			for (const sentence of sentences)
				assert.equal(output.includes(sentence), more.length === 0, `${name}: ${output}`);
		}
});

test("the documents name the versions and commands of the code, and no others", async () => {
	for (const file of ["README.md", "hosts/README.md"]) {
		const text = await readFile(file, "utf8");
		const whole = file === "README.md" ? [] : [installIdf, activateIdf, `eim install -i v${idfVersion}`];
		for (const command of [installSdk, ...whole]) assert.ok(text.includes(command), `${command} in ${file}`);
		for (const [found, version = ""] of text.matchAll(/xs-dev@?([\d.]*\d)? setup/g))
			assert.equal(version, xsDevVersion, `${found} in ${file}`);
		for (const [found, version = ""] of text.matchAll(/\bSDK (\d+\.[\d.]*\d)/g))
			assert.ok(version === sdkVersion, `${found} in ${file}`);
		for (const [found, version = ""] of text.matchAll(/ESP-IDF v(\d+\.[\d.]*\d)/g))
			assert.ok(version === idfVersion || version === "6.0", `${found} in ${file}`);
	}
	const upstream = await readFile("hosts/upstream.md", "utf8");
	assert.ok(upstream.includes(`SDK ${sdkVersion}`), `hosts/upstream.md does not name SDK ${sdkVersion}`);
});
