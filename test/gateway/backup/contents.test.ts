import assert from "node:assert/strict";
import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, test } from "node:test";
import { ArchiveReader } from "../../../gateway/backup/archive.js";
import { createBackup } from "../../../gateway/backup/extension.js";
import { bearer, deviceToken, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";

const kept = {
	"labels/a.json": "{}",
	"later/a-1.json": "of a capability that is added later",
	"sounds/ab.json": "{}",
	"sound-files/ab.wav": "WAV",
	"audit/changes.jsonl": "[1,{}]\n",
	"rollouts/autumn.jsonl": '[1,{"plan":1}]\n',
	"later.json": '"hall"',
};
const leftOut = {
	"labels/a.json.0001.tmp": "{",
	"labels-taken-over/a.json": "{}",
	"labels/backup.zip": "of a person",
	"notes.txt": "of a person",
	"labels/deeper/a.json": "of a person",
};

/** Contents of `GET /api/backup` by name, and the names of omitted files. */
async function contentsOf(url: string, query = "") {
	const { body } = await fetch(`${url}/api/backup${query}`, { headers: bearer(monitorToken) });
	assert.ok(body, "the response has no body");
	const reader = new ArchiveReader(body);
	const found = new Map<string, string>();
	for await (const { name, content } of reader.files()) found.set(name, String(content));
	return { found, skipped: [...(reader.about?.skipped ?? [])].sort() };
}

describe("GET /api/backup", () => {
	for (const withImages of [false, true])
		test(`contains the data files ${withImages ? "and" : "without"} images, with complete log lines`, async (t) => {
			const folder = await temporaryDirectory(t);
			const [dataDir, releasesDir] = [join(folder, "data"), join(folder, "releases")];
			const images = {
				"data/firmware/cd.bin": "an upload",
				"releases/dev-1/firmware-v1.4.0.bin": "a release",
				"releases/dev-1/firmware-v1.4.0.from-v1.3.0.patch": "a patch",
			};
			const data = Object.entries({ ...kept, ...leftOut }).map(
				([name, text]) => [`data/${name}`, text] as const,
			);
			const { url } = await runGateway(t, { dataDir, releasesDir, extensions: [createBackup] });
			for (const [name, text] of [...data, ...Object.entries(images)]) {
				const path = join(folder, name);
				await mkdir(dirname(path), { recursive: true });
				await writeFile(path, name.endsWith(".jsonl") ? `${text}[2,{"at":` : text);
			}
			const { found, skipped } = await contentsOf(url, withImages ? "?releases=1" : "");
			const tokens = JSON.parse(found.get("data/tokens.json") ?? "");
			assert.deepEqual(tokens, { device: deviceToken, monitor: monitorToken });
			found.delete("data/tokens.json");
			assert.deepEqual(skipped, [
				"data/labels-taken-over",
				"data/labels/backup.zip",
				"data/labels/deeper",
				"data/notes.txt",
			]);
			const wanted = Object.entries(kept).map(([name, text]) => [`data/${name}`, text]);
			assert.deepEqual(Object.fromEntries(found), {
				...Object.fromEntries(wanted),
				...(withImages && images),
			});
			// Write-ahead records are read last, and a record before its blob.
			const order = [...found.keys()].map((name) => name.replace("data/", ""));
			for (const [first, second] of [
				["sounds/ab.json", "sound-files/ab.wav"],
				["labels/a.json", "rollouts/autumn.jsonl"],
			] as const)
				assert.ok(order.indexOf(first) < order.indexOf(second), `order: ${order}`);
			assert.match(await readFile(join(dataDir, "gateway.lock"), "utf8"), /pid/);
		});

	test("follows symbolic links as the gateway does", async (t) => {
		const folder = await temporaryDirectory(t);
		const [dataDir, releasesDir] = [join(folder, "data"), join(folder, "releases")];
		const other = join(folder, "other-disk");
		for (const subfolder of ["labels", "crashes", "models/dev-1"])
			await mkdir(join(other, subfolder), { recursive: true });
		await mkdir(join(dataDir, "crashes"), { recursive: true });
		await mkdir(releasesDir);
		await writeFile(join(other, "labels", "a.json"), "{}");
		await writeFile(join(other, "crashes", "a.json"), "[]");
		await writeFile(join(other, "models", "dev-1", "firmware-v1.4.0.bin"), "a release");
		await symlink(join(other, "labels"), join(dataDir, "labels"));
		await symlink(join("..", "..", "other-disk", "crashes", "a.json"), join(dataDir, "crashes", "a.json"));
		await symlink(join(other, "models"), join(releasesDir, "models"));
		await symlink(releasesDir, join(releasesDir, "again"));
		const { url } = await runGateway(t, { dataDir, releasesDir, extensions: [createBackup] });
		const { found, skipped } = await contentsOf(url, "?releases=1");
		found.delete("data/tokens.json");
		assert.deepEqual([...found].sort(), [
			["data/crashes/a.json", "[]"],
			["data/labels/a.json", "{}"],
			["releases/models/dev-1/firmware-v1.4.0.bin", "a release"],
		]);
		assert.deepEqual(skipped, ["releases/again"]);
	});

	test("contains images once if their folder is inside the data folder", async (t) => {
		const dataDir = await temporaryDirectory(t);
		const releasesDir = join(dataDir, "releases");
		const { url } = await runGateway(t, { dataDir, releasesDir, extensions: [createBackup] });
		await mkdir(releasesDir);
		await writeFile(join(releasesDir, "catalog.json"), "{}");
		const names = [...(await contentsOf(url, "?releases=1")).found.keys()];
		assert.deepEqual(names.sort(), ["data/tokens.json", "releases/catalog.json"]);
	});

	for (const [what, path, query] of [
		["a folder", "data/labels", ""],
		["a record", "data/labels/a.json", ""],
		["an image", "releases/a.bin", "?releases=1"],
		["the folder of images", "releases", "?releases=1"],
		["the file of webhooks", "webhooks.json", ""],
	] as const)
		test(`fails with a message if a volume with ${what} is not mounted`, async (t) => {
			const folder = await temporaryDirectory(t);
			const webhooks = join(folder, "webhooks.json");
			const volume = join(folder, "volume");
			await writeFile(webhooks, "[]");
			const { api } = await runGateway(t, {
				dataDir: join(folder, "data"),
				releasesDir: join(folder, "releases"),
				extensions: [createBackup, () => ({ services: { webhooksPath: webhooks } })],
			});
			await mkdir(dirname(join(folder, path)), { recursive: true });
			await rm(join(folder, path), { force: true });
			await symlink(volume, join(folder, path));
			const { status, body } = await api("GET", `/api/backup${query}`);
			const sentence = `${basename(path)} is a link to ${volume}, which is missing.`;
			assert.deepEqual([status, body.detail], [500, `The backup would be incomplete: ${sentence}`]);
		});
});
