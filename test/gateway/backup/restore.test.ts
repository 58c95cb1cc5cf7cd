import assert from "node:assert/strict";
import fs, { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import { type ArchiveFile, writeArchive } from "../../../gateway/backup/archive.js";
import { type RestoreOptions, restore } from "../../../scripts/backup/restore.js";
import { encrypt, keyOf, makeScrypt } from "../../../scripts/backup/secrets.js";
import { temporaryDirectory } from "../../support/cleanup.js";
import { diskWith, failingDisk, systemError } from "../../support/disk.js";
import { deferred } from "../../support/eventually.js";

const tokens: ArchiveFile = { name: "data/tokens.json", content: Buffer.from("the tokens") };
const image: ArchiveFile = { name: "releases/dev-1/firmware.bin", content: Buffer.alloc(5000, 1) };
const files: readonly ArchiveFile[] = [
	tokens,
	{ name: "data/devices/a.json", content: Buffer.from("{}") },
	{ name: "data/audit/changes.jsonl", content: Buffer.from("[1,{}]\n") },
	image,
];
const passphrase = "correct horse";

async function archiveOf(list: readonly ArchiveFile[] = files, about: object = {}): Promise<Buffer> {
	const iterate = async function* () {
		yield* list;
	};
	return buffer(writeArchive(iterate(), () => ({ gateway: "1.0.0", createdAt: "2026", ...about })));
}

async function encryptedArchive(by = passphrase): Promise<Buffer> {
	const scrypt = { ...makeScrypt(), cost: 1024 };
	const content = encrypt(keyOf(by, scrypt), tokens.name, tokens.content);
	return archiveOf([{ name: `${tokens.name}.enc`, content }, ...files.slice(1)], { scrypt });
}

async function* parts(archive: Buffer) {
	for (let at = 0; at < archive.length; at += 100) yield archive.subarray(at, at + 100);
}

async function setUp(t: TestContext) {
	const folder = await temporaryDirectory(t);
	const [dataDir, releasesDir] = [join(folder, "data"), join(folder, "releases")];
	return {
		folder,
		dataDir,
		releasesDir,
		restore: async (archive: Buffer | Promise<Buffer>, options: Partial<RestoreOptions> = {}) =>
			restore({
				archive: parts(await archive),
				dataDir,
				releasesDir,
				passphrase: undefined,
				disk: fs,
				onProblem: assert.fail,
				...options,
			}),
	};
}

async function requireRestored(dataDir: string, releasesDir: string): Promise<void> {
	for (const { name, content } of files) {
		const [root, ...rest] = name.split("/");
		const path = join(root === "data" ? dataDir : releasesDir, ...rest);
		assert.deepEqual(await readFile(path), content, path);
		const isPublic = root === "releases" && !releasesDir.startsWith(dataDir);
		assert.equal((await stat(path)).mode & 0o777, isPublic ? 0o644 : 0o600, path);
		assert.equal((await stat(dirname(path))).mode & 0o777, isPublic ? 0o755 : 0o700, path);
	}
}

describe("restore", () => {
	test("creates missing folders, accessible only to their owner, and leaves nothing else", async (t) => {
		const { folder, dataDir, releasesDir, ...set } = await setUp(t);
		await set.restore(archiveOf());
		await requireRestored(dataDir, releasesDir);
		assert.deepEqual((await readdir(folder)).sort(), ["data", "releases"]);
	});

	test("fills empty folders, even with the images inside the data folder", async (t) => {
		const { dataDir, ...set } = await setUp(t);
		await mkdir(dataDir, 0o700);
		const releasesDir = join(dataDir, "releases");
		await set.restore(archiveOf(), { releasesDir });
		await requireRestored(dataDir, releasesDir);
	});

	test("keeps the mode of existing folders", async (t) => {
		const { dataDir, releasesDir, ...set } = await setUp(t);
		for (const folder of [dataDir, releasesDir]) {
			await mkdir(folder);
			await chmod(folder, 0o2750);
		}
		await set.restore(archiveOf());
		for (const folder of [dataDir, releasesDir])
			assert.equal((await stat(folder)).mode & 0o7777, 0o2750, folder);
	});

	describe("as root", { skip: process.getuid?.() === 0 ? false : "only root can give files away" }, () => {
		const [uid, gid] = [65534, 65533];
		const ownersIn = async (folder: string) => {
			const names = await readdir(folder, { recursive: true });
			const owners = [folder, ...names.map((name) => join(folder, name))].map(async (path) => {
				const stats = await stat(path);
				return `${stats.uid}:${stats.gid}`;
			});
			return [...new Set(await Promise.all(owners))];
		};

		test("keeps the owner of existing folders, for all files", async (t) => {
			const { dataDir, releasesDir, ...set } = await setUp(t);
			for (const folder of [dataDir, releasesDir]) {
				await mkdir(folder);
				await chown(folder, uid, gid);
			}
			await set.restore(archiveOf());
			for (const folder of [dataDir, releasesDir])
				assert.deepEqual(await ownersIn(folder), [`${uid}:${gid}`]);
		});

		test("gives new folders to the owner of their parent", async (t) => {
			const { folder, releasesDir, ...set } = await setUp(t);
			await chown(folder, uid, gid);
			await set.restore(archiveOf(), { dataDir: join(folder, "gateway", "data") });
			assert.deepEqual(await ownersIn(folder), [`${uid}:${gid}`]);
		});

		test("reports a file system that does not support chown", async (t) => {
			const { dataDir, releasesDir, ...set } = await setUp(t);
			await mkdir(dataDir);
			await chown(dataDir, uid, gid);
			const { disk } = failingDisk("chown", "EPERM");
			const problems: string[] = [];
			const onProblem = (sentence: string) => void problems.push(sentence);
			await set.restore(archiveOf(), { disk, onProblem });
			assert.deepEqual(problems, [
				`The owner of ${dataDir} cannot be restored (EPERM). Run as root: chown -R ${uid}:${gid} ${dataDir}`,
			]);
		});
	});

	for (const variable of ["data", "releases"])
		test(`overwrites nothing in ${variable}`, async (t) => {
			const { folder, ...set } = await setUp(t);
			await mkdir(join(folder, variable));
			await writeFile(join(folder, variable, "mine"), "1");
			await assert.rejects(set.restore(archiveOf()), /_DIR is ".*", which is not empty/);
			assert.deepEqual(await readdir(folder), [variable]);
			assert.deepEqual(await readdir(join(folder, variable)), ["mine"]);
		});

	test("requires no empty images folder without images", async (t) => {
		const { dataDir, releasesDir, ...set } = await setUp(t);
		await mkdir(releasesDir);
		await writeFile(join(releasesDir, "mine"), "1");
		await set.restore(archiveOf(files.filter((file) => file !== image)));
		assert.deepEqual(await readFile(join(dataDir, "tokens.json")), tokens.content);
	});

	test("leaves nothing of a damaged or truncated archive", async (t) => {
		const { folder, ...set } = await setUp(t);
		const archive = await archiveOf();
		for (const at of [20, 100, Math.floor(archive.length / 2), archive.length - 6]) {
			const damaged = Buffer.from(archive);
			damaged[at] = (damaged[at] ?? 0) ^ 0xff;
			for (const broken of [damaged, archive.subarray(0, at)]) {
				await assert.rejects(set.restore(broken), /archive is/i);
				assert.deepEqual(await readdir(folder), []);
			}
		}
	});

	test("decrypts the tokens only with their passphrase", async (t) => {
		const { folder, dataDir, releasesDir, ...set } = await setUp(t);
		const archive = await encryptedArchive();
		assert.ok(!archive.includes(tokens.content), "the archive contains the plain tokens");
		for (const wrong of [undefined, "correct hors"]) {
			const message = wrong === undefined ? /--passphrase-file/ : /Wrong passphrase/;
			await assert.rejects(set.restore(archive, { passphrase: wrong }), message);
			assert.deepEqual(await readdir(folder), []);
		}
		await set.restore(archive, { passphrase });
		await requireRestored(dataDir, releasesDir);
	});

	test("accepts each Unicode form of a passphrase", async (t) => {
		const composed = "Z\u00fcrich 8001";
		for (const typed of [composed.normalize("NFD"), `\ufeff${composed}`]) {
			const { dataDir, releasesDir, ...set } = await setUp(t);
			await set.restore(encryptedArchive(composed), { passphrase: typed });
			await requireRestored(dataDir, releasesDir);
		}
	});

	test("leaves nothing on a full disk, at any step", async (t) => {
		const { folder, dataDir, releasesDir, ...set } = await setUp(t);
		const archive = await archiveOf();
		for (let room = 0; ; room += 1) {
			let left = room;
			const disk = diskWith((operation) => {
				if (operation === "create" && left-- === 0) throw systemError("ENOSPC");
			});
			const outcome = await set.restore(archive, { disk }).catch((error: Error) => error);
			if (!(outcome instanceof Error)) break;
			assert.match(outcome.message, /ENOSPC/);
			assert.deepEqual(await readdir(folder), [], `${room}`);
			assert.ok(room < files.length, `fails with room for ${room} files`);
		}
		await requireRestored(dataDir, releasesDir);
	});

	for (const failing of ["data", "releases"])
		test(`leaves nothing if ${failing} cannot be replaced, as a mount point`, async (t) => {
			const { folder, ...set } = await setUp(t);
			const message = /cannot be replaced \(EXDEV\)\. Restore to a new folder inside it/;
			const { disk } = failingDisk("rename", "EXDEV", join(folder, failing));
			await assert.rejects(set.restore(archiveOf(), { disk }), { message });
			assert.deepEqual(await readdir(folder), []);
		});

	test("leaves no data folder if killed before its last step, and can be repeated", async (t) => {
		const { folder, dataDir, releasesDir, ...set } = await setUp(t);
		const archive = await archiveOf();
		const reached = deferred();
		const disk = diskWith((operation) => {
			if (operation !== "rename") return;
			reached.resolve();
			// Simulates the end of the process: nothing is removed.
			return new Promise<never>(() => {});
		});
		void set.restore(archive, { disk });
		await reached.promise;
		const left = await readdir(folder);
		const others = left.filter((name) => !name.includes(".restoring-"));
		assert.deepEqual(others, []);
		await set.restore(archive);
		await requireRestored(dataDir, releasesDir);
	});
});
