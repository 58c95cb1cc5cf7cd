import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { findXs, sdkVersion } from "../../../hosts/virtual/node/xs.js";
import { temporaryDirectory } from "../../support/cleanup.js";

describe("XS engine", () => {
	const npm = /^XS 13\.3 \(@agoric\/xsnap [\d.]+\)$/;

	test("is that of the Moddable SDK if installed, with the heap of the boards", async (t) => {
		const MODDABLE = await fakeSdk(await temporaryDirectory(t));
		const { description, folder, limits } = findXs({ MODDABLE });
		assert.equal(description, `XS 17 (Moddable SDK ${sdkVersion})`);
		assert.equal(folder, join(MODDABLE, "xs"));
		const { creation } = JSON.parse(await readFile("hosts/esp32/manifest.json", "utf8"));
		const { chunk, heap, stack } = creation;
		assert.deepEqual(limits, { chunkBytes: chunk.initial, slots: heap.initial, stackSlots: stack });
		assert.deepEqual(findXs({ MODDABLE, XS: "sdk" }), findXs({ MODDABLE }));
	});

	test("is that of the npm package without an SDK, with another version, or with XS=npm", async (t) => {
		const folder = await temporaryDirectory(t);
		assert.match(findXs({ MODDABLE: folder }).description, npm);
		assert.match(findXs({ MODDABLE: await fakeSdk(join(folder, "newer"), "10.0.2") }).description, npm);
		assert.match(findXs({ MODDABLE: await fakeSdk(folder), XS: "npm" }).description, npm);
	});

	test("rejects XS=sdk without an SDK, and other values", async (t) => {
		const MODDABLE = await temporaryDirectory(t);
		assert.throws(() => findXs({ MODDABLE, XS: "sdk" }), {
			message:
				`XS=sdk requires the Moddable SDK ${sdkVersion}, which is not in ${MODDABLE}. Set MODDABLE to its folder, ` +
				"install it (hosts/README.md), or unset XS.",
		});
		assert.throws(() => findXs({ XS: "17" }), { message: 'XS must be npm or sdk, not "17".' });
	});
});

/** Creates a folder with the files that identify an SDK. */
async function fakeSdk(folder: string, version = sdkVersion): Promise<string> {
	for (const [file, content] of [
		["tools/VERSION", `${version}\n`],
		["xs/sources/xsAll.h", ""],
	] as const) {
		await mkdir(join(folder, file, ".."), { recursive: true });
		await writeFile(join(folder, file), content);
	}
	return folder;
}
