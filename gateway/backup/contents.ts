/**
 * Contents of a backup in the layout of a data folder, from files or a bus. Files are replaced atomically, so
 * each is read completely; a log being written to ends with its last complete line.
 */

import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { TokenFile } from "../access/tokens.js";
import type { Bus } from "../bus.js";
import type { Core } from "../extension.js";
import { type Disk, ifExists, isTemporary, kindOf } from "../storage/atomic-file.js";
import { fileOf, lineOf } from "../storage/file-log.js";
import { entriesOf } from "../storage/log.js";
import type { ArchiveFile } from "./archive.js";

/**
 * Order of reading: a record before its blob, and the rollouts' log last. The gateway writes to it before it
 * acts, so it contains every command sent to a device.
 */
const kinds = { records: ".json", sounds: ".wav", images: ".bin", logs: ".jsonl" } as const;
/** Folders for blobs that are stored on a bus. */
const blobFolders = { "sound-files": kinds.sounds, firmware: kinds.images } as const;
const logs = ["audit", "rollouts"] as const;
/** Files generated from the current settings. */
const ownFiles: readonly string[] = ["data/tokens.json", "data/webhooks.json"];

type Parts = Pick<Core, "settings" | "disk" | "tokens" | "peers" | "services">;

/** @throws {NodeJS.ErrnoException} @throws {BusError} */
export async function* contentsOf(core: Parts, withImages: boolean): AsyncGenerator<ArchiveFile> {
	const { settings, disk, tokens, peers } = core;
	const { releasesDir } = settings;
	const { webhooksPath: webhooksFile } = core.services;
	yield textFile("data/tokens.json", `${JSON.stringify(tokensOf(tokens))}\n`);
	if (webhooksFile) yield { name: "data/webhooks.json", content: await disk.readFile(webhooksFile) };
	const suffixes = Object.values(kinds).filter((suffix) => withImages || suffix !== kinds.images);
	if (peers.bus) yield* ofBus(peers.bus, suffixes);
	else yield* ofFolder(disk, settings, suffixes);
	if (!withImages) return;
	for await (const { path, name, isFile } of inReleases(disk, releasesDir)) {
		const content = isFile ? await ifExists(disk.readFile(path)) : undefined;
		if (content) yield { name, content };
	}
}

/** Returns the tokens in use, including those from environment variables. */
function tokensOf(tokens: Core["tokens"]): TokenFile {
	const [device, previousDevice] = tokens.of("device");
	const [monitor, previousMonitor] = tokens.of("monitor");
	if (device === undefined || monitor === undefined) throw new Error("the tokens are not known yet");
	const previous = {
		...(previousDevice !== undefined && { device: previousDevice }),
		...(previousMonitor !== undefined && { monitor: previousMonitor }),
	};
	const { previous: _, ...file } = tokens.file ?? {};
	return { ...file, device, monitor, ...(Object.keys(previous).length > 0 && { previous }) };
}

/** File or skipped entry; `name` is a path below `data/` or `releases/`, with slashes. */
interface Found {
	readonly path: string;
	readonly name: string;
	readonly isFile: boolean;
}

/**
 * Returns the names of skipped files, which belong neither to the gateway nor to a release.
 * @throws {Error} if the backup would be incomplete because reading fails
 */
export async function skippedBy(
	{ settings, disk, peers, services }: Parts,
	withImages: boolean,
): Promise<string[]> {
	const skipped: string[] = [];
	if (services.webhooksPath) await disk.stat(services.webhooksPath);
	if (!peers.bus)
		for await (const { name, isFile } of inData(disk, settings))
			if (!isFile || !(ownFiles.includes(name) || Object.values(kinds).some((kind) => name.endsWith(kind))))
				skipped.push(name);
	if (withImages)
		for await (const { name, isFile } of inReleases(disk, settings.releasesDir))
			if (!isFile) skipped.push(name);
	return skipped;
}

async function* ofFolder(
	disk: Disk,
	settings: Core["settings"],
	suffixes: readonly string[],
): AsyncGenerator<ArchiveFile> {
	for (const suffix of suffixes)
		for await (const { path, name, isFile } of inData(disk, settings)) {
			if (!isFile || !name.endsWith(suffix) || ownFiles.includes(name)) continue;
			// May have been removed meanwhile.
			const content = await ifExists(disk.readFile(path));
			if (content) yield { name, content: suffix === kinds.logs ? wholeLines(content) : content };
		}
}

/** Yields the contents of the data folder and its folders. */
async function* inData(
	disk: Disk,
	{ dataDir, releasesDir }: Pick<Core["settings"], "dataDir" | "releasesDir">,
): AsyncGenerator<Found> {
	for await (const { path, name, kind } of list(disk, dataDir, "data")) {
		if (path === releasesDir) continue;
		if (kind !== "folder" || name.endsWith("-taken-over")) yield { path, name, isFile: kind === "file" };
		else
			for await (const { kind: inner, ...found } of list(disk, path, name))
				yield { ...found, isFile: inner === "file" };
	}
}

/** @param above real paths of its folder and their parents */
async function* inReleases(
	disk: Disk,
	directory: string,
	name = "releases",
	above: readonly string[] = [],
): AsyncGenerator<Found> {
	if (!(await ifExists(disk.stat(directory)))) return;
	const real = await disk.realpath(directory);
	// A link to a parent folder would recurse endlessly.
	if (above.includes(real)) return yield { path: directory, name, isFile: false };
	for await (const { kind, ...found } of list(disk, directory, name))
		if (kind === "folder") yield* inReleases(disk, found.path, found.name, [...above, real]);
		else yield { ...found, isFile: kind === "file" };
}

/**
 * Yields entries except drafts and locks.
 * @throws {Error} if the target of a link is missing
 */
async function* list(disk: Disk, directory: string, name: string) {
	for (const entry of (await ifExists(disk.readdir(directory, { withFileTypes: true }))) ?? []) {
		if (isTemporary(entry.name)) continue;
		const kind = await kindOf(disk, directory, entry);
		yield { path: join(directory, entry.name), name: `${name}/${entry.name}`, kind };
	}
}

function wholeLines(content: Buffer): Buffer {
	return content.subarray(0, content.lastIndexOf("\n") + 1);
}

/** Yields files on the bus in the layout of a data folder. */
async function* ofBus(bus: Bus, suffixes: readonly string[]): AsyncGenerator<ArchiveFile> {
	for (const name of await bus.buckets()) {
		const [, folder] = /^gw-record-(.+)$/.exec(name) ?? [];
		if (folder === undefined) continue;
		const texts = new Map<string, string>();
		const stop = await (await bus.bucket(name)).watch((key, entry) => {
			if (entry) texts.set(key, entry.text);
			else texts.delete(key);
		});
		stop();
		for (const [key, text] of texts) yield textFile(`data/${folder}/${key}${kinds.records}`, text);
	}
	for (const [folder, suffix] of Object.entries(blobFolders)) {
		if (!suffixes.includes(suffix)) continue;
		const files = await bus.files(`gw-${folder}`);
		for (const name of await files.names()) {
			const content = await files.get(name);
			if (content) yield { name: `data/${folder}/${name}${suffix}`, content: await buffer(content) };
		}
	}
	for (const folder of logs) {
		const lines = new Map<string, string>();
		for (const [key, entry] of await entriesOf(await bus.log(`gw-${folder}`)))
			lines.set(key, `${lines.get(key) ?? ""}${lineOf(entry)}`);
		for (const [key, text] of lines) yield textFile(`data/${folder}/${fileOf(key)}`, text);
	}
}

function textFile(name: string, text: string): ArchiveFile {
	return { name, content: Buffer.from(text) };
}
