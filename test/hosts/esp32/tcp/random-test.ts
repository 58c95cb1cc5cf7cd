/**
 * Compiles the random test of the boards' TCP socket (tcp-random.c) under a sanitizer, with or without an injected
 * fault, and runs it.
 */

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectFolder } from "../../../../scripts/command-line/project.js";
import { pathOf, whyMissing } from "../../../support/programs.js";

const sources: ReadonlyMap<string, string> = new Map(
	[
		"hosts/esp32/tcp/tcp-connection.c",
		"hosts/esp32/tcp/tcp-watcher.c",
		"test/hosts/esp32/tcp/tcp-port-test.c",
		"test/hosts/esp32/tcp/tcp-random.c",
	].map((path) => [path.split("/").at(-1) ?? path, readFileSync(join(projectFolder, path), "utf8")]),
);

const sanitizers = {
	thread: ["-fsanitize=thread"],
	address: ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
} as const;
export type Sanitizer = keyof typeof sanitizers;

/** Change of one source: the first text is replaced by the second. */
export interface Fault {
	readonly name: string;
	readonly file: string;
	readonly replacements: readonly (readonly [string, string])[];
	readonly sanitizer: Sanitizer;
	readonly found: RegExp;
}

/**
 * @param work folder for build products
 * @param name of the program
 * @returns the path of the program
 */
export function compile(work: string, name: string, sanitizer: Sanitizer, fault?: Fault): string {
	const files = [...sources].map(([file, text]) => {
		const path = join(work, `${name}-${file}`);
		writeFileSync(path, fault?.file === file ? withFault(text, fault) : text);
		return path;
	});
	const program = join(work, name);
	const folders = ["hosts/esp32/tcp", "test/hosts/esp32/tcp"].map((folder) => join(projectFolder, folder));
	const words = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-pthread"];
	if (fault) words.push("-DSTALL_MS=8000", "-Wno-unused-function");
	const made = spawnSync(
		pathOf("C compiler"),
		[
			...words,
			...sanitizers[sanitizer],
			...folders.flatMap((folder) => ["-I", folder]),
			"-o",
			program,
			...files,
		],
		{ encoding: "utf8" },
	);
	assert.equal(made.stderr, "");
	assert.equal(made.status, 0);
	return program;
}

function withFault(text: string, { name, replacements }: Fault): string {
	return replacements.reduce((changed, [from, to]) => {
		assert.ok(changed.includes(from), `"${name}" is to replace what is not there: ${from}`);
		return changed.replaceAll(from, to);
	}, text);
}

export interface Run {
	readonly status: number | null;
	readonly output: string;
}

export function run(program: string, ...words: readonly string[]): Promise<Run> {
	const [command = program, ...rest] = [...withoutRandomAddresses, program, ...words];
	const child = spawn(command, rest, { env: { ...process.env, TSAN_OPTIONS: "halt_on_error=1" } });
	let output = "";
	for (const stream of [child.stdout, child.stderr])
		stream.setEncoding("utf8").on("data", (text: string) => {
			output += text;
		});
	return new Promise((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (status) => resolve({ status, output }));
	});
}

/** gcc's ThreadSanitizer requires addresses that a kernel with vm.mmap_rnd_bits above 28 may use for others. */
let withoutRandomAddresses: readonly string[] = [];

/** Checks that ThreadSanitizer can run. Called before a program that uses it. */
export function prepareThreadSanitizer(work: string): void {
	const source = join(work, "empty.c");
	const program = join(work, "empty");
	writeFileSync(source, "int main(void) { return 0; }\n");
	const made = spawnSync(pathOf("C compiler"), ["-fsanitize=thread", "-o", program, source], {
		encoding: "utf8",
	});
	assert.equal(made.status, 0, `no ThreadSanitizer: install the compiler's libtsan\n${made.stderr}`);
	const ways = [[], ["setarch", "-R"]];
	const way = ways.find((words) => {
		// Address layout is random.
		const attempts = Array.from({ length: 20 }, () =>
			spawnSync(words[0] ?? program, [...words.slice(1), program]),
		);
		return attempts.every(({ status }) => status === 0);
	});
	assert.ok(way, "ThreadSanitizer cannot map its memory: set vm.mmap_rnd_bits to 28, or install setarch");
	withoutRandomAddresses = way;
}

/** Reason for node:test to skip, or undefined. */
export const reason = process.platform !== "linux" ? "needs Linux" : whyMissing("C compiler") || undefined;
