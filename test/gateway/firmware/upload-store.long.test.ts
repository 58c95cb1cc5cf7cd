import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { UploadStore } from "../../../gateway/firmware/upload-store.js";
import { assertSameBytes } from "../../support/bytes.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { entryPoint } from "../../support/entry-point.js";
import { nextEvent } from "../../support/eventually.js";
import { uploadsIn } from "../../support/firmware-server.js";
import { makeImage } from "../../support/images.js";

const previous = makeImage();
const next = makeImage({ version: "1.5.0" });

function sha256(bytes: Uint8Array): string {
	return createHash("sha256").update(bytes).digest("hex");
}

describe("kill -9 at any step of an upload", () => {
	test("leaves the complete previous or new firmware, and nothing else after a restart", {
		timeout: 120_000,
	}, async (t) => {
		const directory = await temporaryDirectory(t);
		const words = entryPoint("test/gateway/firmware/killed-upload.ts");
		const imagePath = join(directory, "next");
		await writeFile(imagePath, next);

		/** @returns whether it was killed, and the current firmware after the restart */
		const killAt = async (step: number) => {
			const folder = join(directory, String(step));
			await keep(folder, previous, "previous.bin");
			const child = spawn(process.execPath, [...words, folder, String(step), imagePath], {
				stdio: "inherit",
			});
			const [code, signal] = await nextEvent(child, "exit");
			assert.ok(signal === "SIGKILL" || code === 0, `step ${step}: exit ${code}, ${signal}`);
			const problems: string[] = [];
			const store = await openStore(folder, problems);
			assert.deepEqual(problems, []);
			const { current } = store;
			assert.ok(current, `step ${step}: no firmware`);
			const isNew = current.filename === "new.bin";
			const expected = isNew ? next : previous;
			assert.deepEqual([current.sha256, current.size], [sha256(expected), expected.length]);
			assert.equal(current.version, isNew ? "1.5.0" : "1.4.0");
			const path = await store.path(current);
			assertSameBytes(await readFile(path ?? assert.fail("no file")), expected);
			assert.equal((await readdir(folder)).length, 2, `leftovers of step ${step}`);
			await keep(folder, next, "after.bin");
			return { wasKilled: signal === "SIGKILL", isNew };
		};

		let step = 1;
		const outcomes: boolean[] = [];
		for (let isRunning = true; isRunning; step += 4)
			for (const { wasKilled, isNew } of await Promise.all(
				[0, 1, 2, 3].map((offset) => killAt(step + offset)),
			)) {
				if (wasKilled) outcomes.push(isNew);
				else isRunning = false;
			}
		t.diagnostic(
			`${outcomes.length} steps, the new firmware counts after ${outcomes.filter(Boolean).length} of them`,
		);
		assert.ok(outcomes.length >= 12, `only ${outcomes.length} steps`);
		assert.deepEqual(outcomes, [...outcomes].sort(), "new firmware lost at a later step");
		assert.equal(new Set(outcomes).size, 2);
	});
});

async function openStore(directory: string, problems: string[]): Promise<UploadStore> {
	const store = uploadsIn(directory, { onProblem: (problem) => void problems.push(problem) });
	await store.open();
	return store;
}

async function keep(directory: string, image: Uint8Array, filename: string): Promise<void> {
	const draft = await (await openStore(directory, [])).begin();
	await draft.write(image);
	await draft.commit({ filename, version: "1.4.0", sha256: sha256(image) });
}
