/** What the Moddable manifests promise, as far as it can be seen without the SDK. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { installedSettings } from "../../device/protocol/messages.js";
import { projectFolder } from "../../scripts/command-line/project.js";

/** Modules under a folder, named as the manifest names them: by their path, without extension. */
function modulesIn(folder: string): string[] {
	return readdirSync(join(projectFolder, folder), { recursive: true, encoding: "utf8" })
		.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))
		.map((file) => file.slice(0, -".ts".length).replaceAll("\\", "/"))
		.sort();
}

function preloadOf(manifest: string): string[] {
	return JSON.parse(readFileSync(join(projectFolder, manifest), "utf8")).preload;
}

test("every module of the firmware is preloaded: mcconfig's wildcards do not match TypeScript", () => {
	assert.deepEqual(preloadOf("manifest.json").sort(), modulesIn("device"));
});

test("every module of the simulator's host is preloaded", () => {
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

test("the simulator knows the sizes of its heap, which XS does not report", () => {
	const { config, creation } = JSON.parse(
		readFileSync(join(projectFolder, "hosts/simulator/manifest.json"), "utf8"),
	);
	const { chunk, heap } = creation;
	assert.deepEqual([config.chunkBytes, config.slots], [chunk.initial, heap.initial]);
	assert.deepEqual([chunk.incremental, heap.incremental], [0, 0]);
});

test("every module of TLS is preloaded", () => {
	const { modules, preload } = JSON.parse(
		readFileSync(join(projectFolder, "hosts/moddable/tls/manifest.json"), "utf8"),
	);
	const preloaded = preload
		.map((name: string) => modules[name])
		.filter((file: string) => file.startsWith("./"));
	assert.deepEqual(
		preloaded.sort(),
		modulesIn("hosts/moddable/tls").map((name) => `./${name}`),
	);
});

test("every setting is empty in the manifest that is merged last: what a manifest of the SDK names is not taken for the command line's", () => {
	const { config } = JSON.parse(readFileSync(join(projectFolder, "manifest.json"), "utf8"));
	assert.deepEqual(config, Object.fromEntries(installedSettings.map((name) => [name, ""])));
});
