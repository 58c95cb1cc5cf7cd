/**
 * What a back-up holds, in the form of a data folder, whether the gateway is alone or its data are on a bus. Files are replaced
 * atomically, so each is read whole; of a log that is being written to, the last whole line is the end.
 */

import type { Dirent } from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { TokenFile } from "../access/tokens.js";
import type { Bus } from "../bus.js";
import type { Core } from "../extension.js";
import { type Disk, ifThere, isTemporary } from "../storage/atomic-file.js";
import { fileOf, lineOf } from "../storage/file-log.js";
import type { Entry } from "../storage/log.js";
import type { ArchiveFile } from "./archive.js";

/**
 * Read in this order: a record before the blob that it names, and the roll-outs' log last, as a gateway writes to it before it
 * acts: what a device was asked for is in it.
 */
const kinds = { records: ".json", sounds: ".wav", images: ".bin", logs: ".jsonl" } as const;
/** Where a data folder has what is elsewhere on a bus. */
const blobFolders = { "sound-files": kinds.sounds, firmware: kinds.images } as const;
const logs = { audit: "gw-audit", rollouts: "gw-rollout-log" } as const;
/** Made from what is in use. */
const ownFiles: readonly string[] = ["tokens.json", "webhooks.json"];

type Parts = Pick<Core, "settings" | "disk" | "tokens" | "peers">;

/** @throws {NodeJS.ErrnoException} @throws {BusError} */
export async function* contentsOf(core: Parts, withImages: boolean): AsyncGenerator<ArchiveFile> {
	const { settings, disk, tokens, peers } = core;
	const { webhooksFile, dataDir, releasesDir } = settings;
	yield textFile("data/tokens.json", `${JSON.stringify(tokensOf(tokens))}\n`);
	const hooks = webhooksFile === undefined ? undefined : await ifThere(disk.readFile(webhooksFile));
	if (hooks) yield { name: "data/webhooks.json", content: hooks };
	const suffixes = Object.values(kinds).filter((suffix) => withImages || suffix !== kinds.images);
	if (peers.bus) yield* ofBus(peers.bus, suffixes);
	else yield* ofFolder(disk, dataDir, suffixes);
	if (withImages) yield* allOf(disk, releasesDir, "releases");
}

/** Those in use, also if the environment gives them. */
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

/** The data folder's own files, and those in its folders. */
async function* ofFolder(
	disk: Disk,
	dataDir: string,
	suffixes: readonly string[],
): AsyncGenerator<ArchiveFile> {
	for (const suffix of suffixes)
		for (const entry of await list(disk, dataDir)) {
			const isFolder = entry.isDirectory() && !entry.name.endsWith("-taken-over");
			const names = isFolder
				? (await list(disk, join(dataDir, entry.name))).filter((each) => each.isFile())
				: [];
			const paths = isFolder ? names.map(({ name }) => `${entry.name}/${name}`) : [entry.name];
			for (const path of paths) {
				if (!path.endsWith(suffix) || ownFiles.includes(path)) continue;
				// It may have been removed meanwhile.
				const content = await ifThere(disk.readFile(join(dataDir, path)));
				if (content)
					yield { name: `data/${path}`, content: suffix === kinds.logs ? wholeLines(content) : content };
			}
		}
}

async function list(disk: Disk, directory: string): Promise<readonly Dirent[]> {
	return (await ifThere(disk.readdir(directory, { withFileTypes: true }))) ?? [];
}

function wholeLines(content: Buffer): Buffer {
	return content.subarray(0, content.lastIndexOf("\n") + 1);
}

/** As they would be in a data folder. */
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
	for (const [folder, name] of Object.entries(logs)) {
		const lines = new Map<string, string>();
		const onAll = (entries: readonly (readonly [string, Entry])[]) => {
			for (const [key, entry] of entries) lines.set(key, `${lines.get(key) ?? ""}${lineOf(entry)}`);
		};
		const stop = await (await bus.log(name)).read({ onAll, onEntry: () => {} });
		stop();
		for (const [key, text] of lines) yield textFile(`data/${folder}/${fileOf(key)}`, text);
	}
}

/** All files below a folder. */
async function* allOf(disk: Disk, directory: string, name: string): AsyncGenerator<ArchiveFile> {
	for (const entry of await list(disk, directory)) {
		const path = join(directory, entry.name);
		if (entry.isDirectory()) yield* allOf(disk, path, `${name}/${entry.name}`);
		const content = entry.isFile() && !isTemporary(path) ? await ifThere(disk.readFile(path)) : undefined;
		if (content) yield { name: `${name}/${entry.name}`, content };
	}
}

function textFile(name: string, text: string): ArchiveFile {
	return { name, content: Buffer.from(text) };
}
