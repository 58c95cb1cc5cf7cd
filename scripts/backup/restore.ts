/** Restores a backup to temporary folders and renames them once everything was verified, so that a failure leaves no partial data. */

import { randomUUID } from "node:crypto";
import type * as fs from "node:fs/promises";
import { dirname, isAbsolute, join, relative } from "node:path";
import {
	type About,
	ArchiveError,
	type ArchiveFile,
	ArchiveReader,
	encryptedSuffix,
} from "../../gateway/backup/archive.js";
import { errorCode } from "../../gateway/problem.js";
import { type Disk, ifExists, makeFolder } from "../../gateway/storage/atomic-file.js";
import { decrypt, keyOf } from "./secrets.js";

export interface RestoreOptions {
	readonly archive: AsyncIterable<Uint8Array>;
	/** Folder that is missing or empty. */
	readonly dataDir: string;
	/** Folder that is missing or empty, if the archive contains images. */
	readonly releasesDir: string;
	readonly passphrase: string | undefined;
	readonly disk: Disk & Pick<typeof fs, "chmod" | "rmdir">;
	/** Called with a message for each folder whose owner was not restored. */
	readonly onProblem: (sentence: string) => void;
}

/** State of a folder before the restore. */
interface Origin {
	/** Undefined keeps the user of this process. */
	readonly owner: { readonly uid: number; readonly gid: number } | undefined;
	/** Undefined if the folder was missing. */
	readonly mode: number | undefined;
	/** Missing parent folders. */
	readonly missing: readonly string[];
}

/** @throws {ArchiveError} @throws {Error} if a folder is not empty or cannot be replaced @throws {NodeJS.ErrnoException} */
export async function restore(options: RestoreOptions): Promise<About> {
	const { archive, releasesDir, passphrase, disk } = options;
	const dataDir = await emptyFolder(disk, options.dataDir, "DATA_DIR");
	const suffix = `.restoring-${randomUUID()}`;
	/** Target folders with temporary folders beside them. */
	const written = new Map<string, Origin>();
	const placed: string[] = [];
	const write = async ({ name, content }: ArchiveFile) => {
		const [root, ...parts] = name.split("/");
		const isData = root === "data";
		const within = isData ? "" : relative(dataDir, releasesDir);
		const isWithin = isData || !(within.startsWith("..") || isAbsolute(within));
		const folder = isWithin ? dataDir : releasesDir;
		if (!written.has(folder)) {
			if (!isWithin) await emptyFolder(disk, folder, "RELEASES_DIR");
			written.set(folder, await originOf(disk, folder));
		}
		await writeDurably(disk, join(`${folder}${suffix}`, isWithin ? within : "", ...parts), content);
	};
	try {
		const encrypted: ArchiveFile[] = [];
		const reader = new ArchiveReader(archive);
		for await (const file of reader.files())
			if (file.name.endsWith(encryptedSuffix)) encrypted.push(file);
			else await write(file);
		const { about } = reader;
		if (!about) throw new TypeError("archive without a description");
		for (const file of decrypted(encrypted, about, passphrase)) await write(file);
		// The data folder comes last, since a gateway starts only with it.
		for (const [folder, origin] of [...written].sort(([name]) => (name === dataDir ? 1 : -1))) {
			const why = await adopt(disk, `${folder}${suffix}`, origin, folder !== dataDir);
			await replace(disk, `${folder}${suffix}`, folder);
			const { owner } = origin;
			if (why && owner)
				options.onProblem(
					`The owner of ${folder} cannot be restored (${why}). Run as root: chown -R ${owner.uid}:${owner.gid} ${folder}`,
				);
			placed.push(folder);
		}
		return about;
	} catch (error) {
		for (const folder of placed) await disk.rm(folder, { recursive: true, force: true });
		throw error;
	} finally {
		for (const folder of written.keys())
			await disk.rm(`${folder}${suffix}`, { recursive: true, force: true });
	}
}

/** @param variable environment variable of the folder @returns its real path @throws {Error} if it is not empty */
async function emptyFolder(disk: Disk, path: string, variable: string): Promise<string> {
	const names = await ifExists(disk.readdir(path));
	if (names === undefined) return path;
	if (names.length === 0) return disk.realpath(path);
	throw new Error(
		`${variable} is "${path}", which is not empty. Set ${variable} to a folder that is missing or empty.`,
	);
}

/** Reads the owner and mode of a folder; a missing one inherits the owner of its parent if this process is root. */
async function originOf(disk: Disk, folder: string): Promise<Origin> {
	const missing: string[] = [];
	for (let ancestor = folder; ; ancestor = dirname(ancestor)) {
		const stats = await ifExists(disk.stat(ancestor));
		if (stats && ancestor === folder) return { owner: stats, mode: stats.mode & 0o7777, missing };
		if (stats) return { owner: process.getuid?.() === 0 ? stats : undefined, mode: undefined, missing };
		if (ancestor !== folder) missing.push(ancestor);
	}
}

/**
 * Sets the owner and mode of a written folder.
 * @param isPublic makes it readable for all users, like npm run release
 * @returns reason why the owner was not set
 * @throws {NodeJS.ErrnoException}
 */
async function adopt(
	disk: RestoreOptions["disk"],
	written: string,
	{ owner, mode, missing }: Origin,
	isPublic: boolean,
): Promise<string | undefined> {
	let why: string | undefined;
	const own = async (path: string) => {
		const { uid, gid } = await disk.stat(path);
		if (!owner || (uid === owner.uid && gid === owner.gid)) return;
		await disk.chown(path, owner.uid, owner.gid).catch((error: unknown) => {
			why = errorCode(error) ?? String(error);
		});
	};
	const visit = async (path: string) => {
		const isFolder = (await disk.stat(path)).isDirectory();
		if (isPublic) await disk.chmod(path, isFolder ? 0o755 : 0o644);
		for (const name of isFolder ? await disk.readdir(path) : []) await visit(join(path, name));
		await own(path);
	};
	await visit(written);
	if (mode !== undefined) await disk.chmod(written, mode);
	for (const folder of missing) await own(folder);
	return why;
}

async function writeDurably(disk: Disk, path: string, content: Buffer): Promise<void> {
	await makeFolder(disk, dirname(path));
	const file = await disk.open(path, "wx", 0o600);
	try {
		await file.writeFile(content);
		await file.sync();
	} finally {
		await file.close();
	}
}

/** @throws {ArchiveError} */
function decrypted(files: readonly ArchiveFile[], { scrypt }: About, passphrase: string | undefined) {
	if (files.length === 0) return [];
	if (!scrypt) throw new ArchiveError("Damaged archive: encryption parameters are missing.");
	if (passphrase === undefined)
		throw new ArchiveError(
			"The tokens in this backup are encrypted. Specify the passphrase with --passphrase-file.",
		);
	const key = keyOf(passphrase, scrypt);
	return files.map((file) => {
		const name = file.name.slice(0, -encryptedSuffix.length);
		const content = decrypt(key, name, file.content);
		if (!content) throw new ArchiveError("Wrong passphrase.");
		return { name, content };
	});
}

/** @throws {Error} if the folder cannot be replaced, such as a mount point */
async function replace(disk: RestoreOptions["disk"], from: string, folder: string): Promise<void> {
	try {
		await ifExists(disk.rmdir(folder));
		await disk.rename(from, folder);
	} catch (error) {
		throw new Error(
			`${folder} cannot be replaced (${errorCode(error)}). Restore to a new folder inside it, and run the gateway with that folder.`,
		);
	}
}
