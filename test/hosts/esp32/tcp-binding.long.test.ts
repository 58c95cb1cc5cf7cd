/**
 * Natives of the boards' TCP socket (hosts/esp32/tcp/tcp-binding.c) in XS, driven by a script (tcp/xs/script.ts)
 * under AddressSanitizer. XS is compiled once and cached.
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	renameSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { build } from "esbuild";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { compileC, withoutCompiler } from "../../support/c-program.js";
import { portOf } from "../../support/ports.js";
import { pathOf } from "../../support/programs.js";

const own = "hosts/esp32/tcp";
const tests = "test/hosts/esp32/tcp";
const xsPackage = join(projectFolder, "node_modules", "@agoric", "xsnap");
const xs = join(xsPackage, "moddable", "xs");

const work = mkdtempSync(join(tmpdir(), "tcp-xs-"));
after(() => rmSync(work, { recursive: true, force: true }));
// Relative to `work`, because make cannot handle every path.
symlinkSync(xs, join(work, "xs"));
symlinkSync(join(projectFolder, tests, "xs"), join(work, "platform"));

const common = ["-D_GNU_SOURCE", "-g", "-fno-common", "-pthread"];
const defines = [
	"-DINCLUDE_XSPLATFORM",
	'-DXSPLATFORM="platform.h"',
	"-DmxNoConsole=1",
	"-DmxParse=1",
	"-DmxRun=1",
];
const folders = ["xs/includes", "xs/platforms", "xs/sources", "platform"];

/** Library of XS under .cache, keyed by its inputs. @returns its path relative to the project */
function buildXs(): string {
	const platform = readFileSync(join(projectFolder, tests, "xs", "platform.h"));
	const version = readFileSync(join(xsPackage, "package.json"));
	const words = ["-std=gnu11", "-O1", ...common, ...defines, ...folders.map((folder) => `-I${folder}`)];
	const key = createHash("sha256").update(platform).update(version).update(words.join()).digest("hex");
	const library = join(".cache", "tcp-test", `xs-${key.slice(0, 16)}.a`);
	const target = join(projectFolder, library);
	if (existsSync(target)) return library;
	const sources = readdirSync(join(xs, "sources")).filter((file) => file.endsWith(".c"));
	const quoted = words.map((word) => `'${word}'`).join(" ");
	const rules = [
		`xs.a: ${sources.map((file) => `${file}.o`).join(" ")}\n\tar rcs $@ $^`,
		`%.c.o: xs/sources/%.c\n\t'${pathOf("C compiler")}' ${quoted} -w -c $< -o $@`,
	];
	writeFileSync(join(work, "Makefile"), `${rules.join("\n\n")}\n`);
	const made = spawnSync("make", [`-j${availableParallelism()}`, "-C", work], { encoding: "utf8" });
	assert.equal(made.status, 0, made.stderr);
	mkdirSync(join(target, ".."), { recursive: true });
	renameSync(join(work, "xs.a"), target);
	return library;
}

function buildHost(): string {
	const sources = ["tcp-binding", "tcp-connection"].map((name) => `${own}/${name}.c`);
	return compileC({
		sources: [...sources, `${tests}/tcp-port-test.c`, `${tests}/xs/xs-host.c`, buildXs()],
		folders: [`${tests}/xs/sdk`, own, tests],
		sanitizers: [
			...["-fsanitize=address,undefined", "-fno-sanitize-recover=all", ...common, ...defines],
			...folders.flatMap((folder) => ["-isystem", join(work, folder)]),
			...["-Wl,--no-as-needed", "-lm", "-ldl"],
		],
	});
}

async function bundle(ports: Readonly<Record<string, number>>): Promise<string> {
	const modules: Readonly<Record<string, string>> = {
		"embedded:io/socket/tcp": join(projectFolder, own, "tcp.ts"),
		"moddable/socket-guard": join(projectFolder, "hosts", "moddable", "socket-guard.ts"),
	};
	const made = await build({
		entryPoints: [join(projectFolder, tests, "xs", "script.ts")],
		bundle: true,
		format: "iife",
		target: "es2022",
		write: false,
		define: { ports: JSON.stringify(ports) },
		banner: {
			js: `const native = (name) => natives[name];
const Native = () => function () { return Object.setPrototypeOf(makeHost(), new.target.prototype); };`,
		},
		plugins: [
			{
				name: "modules",
				setup: ({ onResolve }) => {
					onResolve({ filter: /^(embedded|moddable)/ }, ({ path }) => ({ path: modules[path] ?? path }));
				},
			},
		],
	});
	const file = join(work, "script.js");
	writeFileSync(file, made.outputFiles[0]?.text ?? "");
	return file;
}

const servers: Server[] = [];
after(() => {
	for (const server of servers) server.close();
});

/** @returns its port */
async function serve(onConnection: (socket: Socket) => void): Promise<number> {
	const server = createServer((socket) => {
		socket.on("error", () => {});
		onConnection(socket);
	});
	servers.push(server);
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return portOf(server);
}

async function rejectingPort(): Promise<number> {
	const port = await serve(() => {});
	await new Promise((resolve) => servers.pop()?.close(resolve));
	return port;
}

const reason = process.platform === "linux" ? withoutCompiler : "needs Linux";

describe("natives of the boards' TCP socket", { skip: reason }, () => {
	test("follow ECMA-419 in XS without memory errors", async () => {
		const ports = {
			rejecting: await rejectingPort(),
			greeting: await serve((socket) => socket.end("hello world")),
			resetting: await serve((socket) => {
				socket.write("abc");
				setTimeout(() => socket.resetAndDestroy(), 50);
			}),
			echoing: await serve((socket) => socket.pipe(socket)),
		};
		const child = spawn(buildHost(), [await bundle(ports)], {
			// XS does not free everything at exit.
			env: { ...process.env, ASAN_OPTIONS: "detect_leaks=0" },
		});
		let output = "";
		for (const stream of [child.stdout, child.stderr])
			stream.setEncoding("utf8").on("data", (text: string) => {
				output += text;
			});
		const status = await new Promise((resolve) => child.on("close", resolve));
		assert.equal(output, "exception in a socket callback: Error: mine\n9 steps\n");
		assert.equal(status, 0);
	});
});
