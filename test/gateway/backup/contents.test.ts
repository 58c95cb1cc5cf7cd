import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
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
	"mqtt-name.json": '"hall"',
};
const leftOut = {
	"labels/a.json.0001.tmp": "{",
	"labels-taken-over/a.json": "{}",
	"labels/backup.zip": "of a person",
	"notes.txt": "of a person",
	"labels/deeper/a.json": "of a person",
};

describe("GET /api/backup", () => {
	for (const withImages of [false, true])
		test(`has the data folder's files ${withImages ? "and" : "without"} images, and of a log whole lines`, async (t) => {
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
			const query = withImages ? "?releases=1" : "";
			const headers = bearer(monitorToken);
			const { body } = await fetch(`${url}/api/backup${query}`, { headers });
			assert.ok(body, "the response has no body");
			const found = new Map<string, string>();
			for await (const { name, content } of new ArchiveReader(body).files()) found.set(name, String(content));
			const tokens = found.get("data/tokens.json") ?? "";
			assert.deepEqual(JSON.parse(tokens), { device: deviceToken, monitor: monitorToken });
			found.delete("data/tokens.json");
			const wanted = Object.entries(kept).map(([name, text]) => [`data/${name}`, text] as const);
			assert.deepEqual(
				new Map([...found].sort()),
				new Map([...wanted, ...(withImages ? Object.entries(images) : [])].sort()),
			);
			// What is written before it is acted on is read last; a record before its blob.
			const order = [...found.keys()];
			assert.ok(
				order.indexOf("data/sounds/ab.json") < order.indexOf("data/sound-files/ab.wav"),
				`order: ${order}`,
			);
			assert.ok(
				order.indexOf("data/labels/a.json") < order.indexOf("data/rollouts/autumn.jsonl"),
				`order: ${order}`,
			);
			assert.match(await readFile(join(dataDir, "gateway.lock"), "utf8"), /pid/);
		});

	test("is for monitors alone", async (t) => {
		const { url } = await runGateway(t, { extensions: [createBackup] });
		const { status } = await fetch(`${url}/api/backup`, { headers: bearer(deviceToken) });
		assert.equal(status, 401);
		const made = await fetch(`${url}/api/tokens`, {
			method: "POST",
			headers: bearer(monitorToken),
			body: '{"name":"ben","role":"viewer"}',
		});
		const { token } = JSON.parse(await made.text());
		assert.equal((await fetch(`${url}/api/backup`, { headers: bearer(token) })).status, 403);
	});
});
