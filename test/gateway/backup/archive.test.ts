import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { describe, test } from "node:test";
import { gunzipSync, gzipSync } from "node:zlib";
import {
	ArchiveError,
	type ArchiveFile,
	ArchiveReader,
	format,
	writeArchive,
} from "../../../gateway/backup/archive.js";

const longName = `data/${"folder-".repeat(20)}/${"k".repeat(64)}.json`;
const files: readonly ArchiveFile[] = [
	{ name: "data/tokens.json", content: Buffer.from('{"device":"d"}') },
	{ name: "data/empty/log.jsonl", content: Buffer.alloc(0) },
	{ name: longName, content: Buffer.from("long") },
	{ name: "data/sounds/Dinner%20ä.json", content: Buffer.from("name") },
	{ name: "releases/dev-1/firmware-v1.4.0.bin", content: Buffer.alloc(200_001, "image") },
];
const about = { gateway: "1.0.0", createdAt: "2026-11-26T20:00:00.000Z" };

async function* iterate(list: readonly ArchiveFile[]) {
	yield* list;
}

function archiveOf(list: readonly ArchiveFile[] = files): Promise<Buffer> {
	return buffer(writeArchive(iterate(list), () => about));
}

async function read(archive: Buffer, chunkBytes = 1000) {
	const chunks = async function* () {
		for (let at = 0; at < archive.length; at += chunkBytes) yield archive.subarray(at, at + chunkBytes);
	};
	const reader = new ArchiveReader(chunks());
	const found: ArchiveFile[] = [];
	for await (const file of reader.files()) found.push(file);
	return { found, about: reader.about };
}

/** Archive with the text of backup.json replaced by one of the same length. */
async function altered(from: string, to: string): Promise<Buffer> {
	assert.equal(from.length, to.length);
	const tar = gunzipSync(await archiveOf());
	const at = tar.lastIndexOf(from);
	assert.ok(at > 0, from);
	tar.write(to, at);
	return gzipSync(tar);
}

describe("archive", () => {
	for (const chunkBytes of [7, 1000, 1 << 20])
		test(`returns its files unchanged, read in chunks of ${chunkBytes} bytes`, async () => {
			const { found, about: read_ } = await read(await archiveOf(), chunkBytes);
			assert.deepEqual(found, files);
			assert.equal(read_?.format, format);
			assert.equal(read_?.createdAt, about.createdAt);
		});

	test("is rejected, or has the same content, with any byte changed or truncated", async () => {
		const archive = await archiveOf();
		const step = Math.ceil(archive.length / 150);
		let rejected = 0;
		for (let at = 0; at < archive.length; at += step) {
			const damaged = Buffer.from(archive);
			damaged[at] = (damaged[at] ?? 0) ^ 0x41;
			for (const broken of [damaged, archive.subarray(0, at)]) {
				const result = await read(broken).catch((error: unknown) => error);
				if (result instanceof ArchiveError) rejected += 1;
				else {
					assert.ok(result instanceof Object && "found" in result, `${at}: ${result}`);
					assert.deepEqual(result.found, files, `${at}`);
				}
			}
		}
		assert.ok(rejected > 200, `${rejected} were rejected`);
	});

	test("is rejected if a file changed with a valid gzip checksum, or in a newer format", async () => {
		const changed = read(await altered('{"device":"d"}', '{"device":"e"}'));
		await assert.rejects(changed, { message: /data\/tokens\.json has the wrong checksum/ });
		const message = /format 9, and this release reads at most 1: .*\(1\.0\.0\)/;
		await assert.rejects(read(await altered('"format": 1', '"format": 9')), { message });
	});

	test("is rejected without one of its files", async () => {
		const tar = gunzipSync(await archiveOf());
		await assert.rejects(read(gzipSync(tar.subarray(1024))), { message: /it has 4 of 5 files/ });
	});

	for (const name of ["data/../../etc/passwd", "/etc/passwd", "data", "other/file", "data/a\\b", "data//a"])
		test(`is rejected with a file ${name}`, async () => {
			const archive = await archiveOf([{ name, content: Buffer.from("x") }]);
			await assert.rejects(read(archive), ArchiveError);
		});

	test("is rejected if it is not a backup", async () => {
		for (const content of [Buffer.from("no archive"), gzipSync("no archive"), Buffer.alloc(0)])
			await assert.rejects(read(content), ArchiveError);
	});

	test("fails with the error of its source", async () => {
		const archive = await archiveOf();
		const source = async function* () {
			yield archive.subarray(0, 300);
			throw new Error("connection lost");
		};
		const drain = async () => {
			for await (const _ of new ArchiveReader(source()).files());
		};
		await assert.rejects(drain(), { message: "connection lost" });
	});
});
