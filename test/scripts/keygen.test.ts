import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { findSignatureProblem, parseReleaseKeys } from "../../gateway/firmware/release-keys.js";
import { readSettings } from "../../gateway/settings.js";
import { boot } from "../../hosts/virtual/node/boot/boot-loader.js";
import { flashFactoryImage } from "../../hosts/virtual/node/boot/factory-flash.js";
import { Flash } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes } from "../../hosts/virtual/node/boot/partitions.js";
import { projectFolder } from "../../scripts/command-line/project.js";
import { formatReleaseKeys } from "../../scripts/command-line/release-keys.js";
import { readCatalog } from "../../scripts/release/folder.js";
import { prepareSigning } from "../../scripts/release/signing.js";
import { sha256Of } from "../support/bytes.js";
import { callCommand } from "../support/command-line.js";
import { temporaryDirectory } from "../support/running.js";

const keygen = (...args: readonly string[]) => callCommand("scripts/keygen.ts", args);

/** @returns the files of a key */
async function makeKey(t: TestContext, name: string) {
	const folder = await temporaryDirectory(t);
	const file = join(folder, `${name}.pem`);
	const { code, output } = await keygen(file);
	assert.equal(code, 0, output);
	return { folder, file, publicFile: join(folder, `${name}.public.pem`), output };
}

describe("npm run keygen", () => {
	test("makes a key that only its owner can read, and prints only its public half", async (t) => {
		const umask = process.umask(0);
		t.after(() => process.umask(umask));
		const { file, publicFile, output } = await makeKey(t, "release-key");
		assert.equal((await stat(file)).mode & 0o777, 0o600);
		const publicPem = await readFile(publicFile, "utf8");
		assert.ok(output.includes(publicPem), `the output lacks the public key: ${output}`);
		assert.ok(output.includes(`RELEASE_KEYS=${publicFile}`), `the output lacks the setting: ${output}`);
		assert.doesNotMatch(output, /BEGIN PRIVATE KEY/);
		const { sign, releaseKeys } = prepareSigning(file, parseReleaseKeys(publicPem));
		const image = Buffer.from("an image");
		assert.equal(findSignatureProblem(releaseKeys, sha256Of(image), sign?.(image)), undefined);
	});

	test("never overwrites a file", async (t) => {
		const { folder, file, publicFile } = await makeKey(t, "release-key");
		const before = await Promise.all([file, publicFile].map((path) => readFile(path)));
		for (const removed of [undefined, publicFile]) {
			if (removed) await rm(removed);
			const { code, output } = await keygen(file);
			assert.equal(code, 1);
			assert.match(output, /already exists/);
			assert.deepEqual(await readFile(file), before[0]);
		}
		await rm(file);
		assert.deepEqual(await readdir(folder), []);
	});

	test("rejects a path in the repository, even through a symbolic link", async (t) => {
		const folder = await temporaryDirectory(t);
		await symlink(join(projectFolder, "scripts"), join(folder, "link"));
		const inside = ["release-key.pem", join(projectFolder, "test", "k.pem"), join(folder, "link", "k.pem")];
		for (const file of inside) {
			const { code, output } = await keygen(file);
			assert.equal(code, 1);
			assert.match(output, /is in the repository/);
			assert.equal(existsSync(file), false);
		}
	});

	test("requires a file in an existing folder", async () => {
		assert.match((await keygen()).output, /Specify the file of the key\.\n\nUsage:/);
		assert.match((await keygen("/nowhere/key.pem")).output, /Folder \/nowhere not found/);
	});
});

describe("signed release", () => {
	const release = (
		releasesDir: string,
		args: readonly string[],
		env: Readonly<Record<string, string>> = {},
	) => {
		const environment = { MODDABLE: "/nowhere", RELEASE_KEYS: "", RELEASES_DIR: releasesDir, ...env };
		return callCommand("scripts/release.ts", ["--allow-dirty", ...args], environment);
	};

	/** @returns the catalog entry of the DEV-1's image, the image, and the keys in it */
	async function inspect(releasesDir: string, version: string) {
		const catalog = await readCatalog(releasesDir);
		const entry = catalog.releases
			.find((release) => release.version === version)
			?.images.find(({ model }) => model === "DEV-1");
		assert.ok(entry, "the catalog has no image");
		const file = join(releasesDir, entry.path.slice("/releases/".length));
		const image = await readFile(file);
		const flash = new Flash({ byteLength: flashBytes });
		flashFactoryImage(flash, image);
		const { releaseKeys } = boot(flash).image;
		return { entry, file, image, releaseKeys };
	}

	test("contains the public half of its key, and its signature in the catalog and in a .sig file", async (t) => {
		const releasesDir = await temporaryDirectory(t);
		const { file: key, publicFile } = await makeKey(t, "release-key");
		const { code, output } = await release(releasesDir, ["1.4.0", "--key", key]);
		assert.equal(code, 0, output);
		assert.match(output, /Signed; contains one public key\./);
		const keys = parseReleaseKeys(await readFile(publicFile, "utf8"));
		const { entry, file, image, releaseKeys } = await inspect(releasesDir, "1.4.0");
		assert.equal(findSignatureProblem(keys, sha256Of(image), entry.signature), undefined);
		assert.equal(await readFile(`${file}.sig`, "utf8"), `${entry.signature}\n`);
		assert.equal(releaseKeys, formatReleaseKeys(keys));
	});

	test("contains both keys during a replacement, signed by either", async (t) => {
		const releasesDir = await temporaryDirectory(t);
		const [first, second] = [await makeKey(t, "old"), await makeKey(t, "new")];
		const both = join(releasesDir, "both.pem");
		const publicPems = await Promise.all([first, second].map(({ publicFile }) => readFile(publicFile)));
		await writeFile(both, Buffer.concat(publicPems));
		const { code, output } = await release(releasesDir, ["1.4.0", "--key", first.file], {
			RELEASE_KEYS: both,
		});
		assert.equal(code, 0, output);
		assert.match(output, /contains two public keys/);
		const { releaseKeys } = await inspect(releasesDir, "1.4.0");
		assert.equal(releaseKeys, formatReleaseKeys(readSettings({ RELEASE_KEYS: both }).releaseKeys));
	});

	test("is not made if devices would reject it", async (t) => {
		const [first, second] = [await makeKey(t, "first"), await makeKey(t, "second")];
		const keys = readSettings({ RELEASE_KEYS: first.publicFile }).releaseKeys;
		assert.throws(() => prepareSigning(undefined, keys), /RELEASE_KEYS is set/);
		assert.throws(() => prepareSigning(second.file, keys), /is not in RELEASE_KEYS/);
		assert.throws(() => prepareSigning(first.publicFile, []), /is not an unencrypted private key in PEM/);
		assert.throws(() => prepareSigning("/nowhere/key.pem", []), /cannot be read \(ENOENT\)/);
		assert.deepEqual(prepareSigning(undefined, []), { releaseKeys: [] });
	});
});
