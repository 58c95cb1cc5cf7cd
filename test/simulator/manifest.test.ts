/** Moddable manifests, as far as they can be checked without the SDK. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { installedSettings } from "../../device/protocol/messages.js";
import { projectFolder } from "../../scripts/command-line/project.js";

/** Modules under a folder, named by path without extension as in the manifest. */
function modulesIn(folder: string): string[] {
	return readdirSync(join(projectFolder, folder), { recursive: true, encoding: "utf8" })
		.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))
		.map((file) => file.slice(0, -".ts".length).replaceAll("\\", "/"))
		.sort();
}

function preloadOf(manifest: string): string[] {
	return JSON.parse(readFileSync(join(projectFolder, manifest), "utf8")).preload;
}

test("preloads every module of the firmware: mcconfig's wildcards do not match TypeScript", () => {
	assert.deepEqual(preloadOf("manifest.json").sort(), modulesIn("device"));
});

test("preloads every module of the simulator host", () => {
	const ours = preloadOf("hosts/simulator/manifest.json").filter((name) =>
		/^(simulator|moddable)\//.test(name),
	);
	const modules = [
		...modulesIn("hosts/moddable")
			.filter((name) => !name.startsWith("tls/"))
			.map((name) => `moddable/${name}`),
		...modulesIn("hosts/simulator/modules").map((name) => `simulator/${name}`),
	];
	assert.deepEqual(ours.sort(), modules);
});

test("gives the simulator the sizes of its heap, which XS does not report", () => {
	const { config, creation } = JSON.parse(
		readFileSync(join(projectFolder, "hosts/simulator/manifest.json"), "utf8"),
	);
	const { chunk, heap } = creation;
	assert.deepEqual([config.chunkBytes, config.slots], [chunk.initial, heap.initial]);
	assert.deepEqual([chunk.incremental, heap.incremental], [0, 0]);
});

test("preloads every module of TLS", () => {
	const { modules, preload } = JSON.parse(
		readFileSync(join(projectFolder, "hosts/moddable/tls/manifest.json"), "utf8"),
	);
	const preloaded = preload
		.map((name: string) => modules[name])
		.filter((file: string) => file.startsWith("./"));
	const expected = modulesIn("hosts/moddable/tls").map((name) => `./${name}`);
	assert.deepEqual(preloaded.sort(), expected);
});

test("clears every setting in the last manifest, so that values from the SDK's manifests are not mistaken for the command line's", () => {
	const { config } = JSON.parse(readFileSync(join(projectFolder, "manifest.json"), "utf8"));
	assert.deepEqual(config, Object.fromEntries(installedSettings.map((name) => [name, ""])));
});
