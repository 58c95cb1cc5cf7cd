/** `npm run restore`: restores the data folder of a gateway from a backup. */

import { createReadStream, existsSync } from "node:fs";
import fs from "node:fs/promises";
import { parseArgs } from "node:util";
import type { About } from "../gateway/backup/archive.js";
import { BusError } from "../gateway/bus.js";
import { joinCluster } from "../gateway/extensions.js";
import { readSettings } from "../gateway/settings.js";
import { createLog } from "../gateway/telemetry/log.js";
import { restore } from "./backup/restore.js";
import { readPassphrase } from "./backup/secrets.js";
import { print, runCommand, UsageError } from "./command-line/command.js";

const usage = `Usage: npm run restore -- file.tar.gz [--passphrase-file file]

Makes DATA_DIR, or data, of a file that npm run backup has made; images go to RELEASES_DIR, or releases. Both must be missing or
empty, as must be the servers of NATS_URL, if it is set. It first checks the whole file; what fails leaves nothing.

  --passphrase-file file   its first line decrypts tokens and webhooks`;

const options = { "passphrase-file": { type: "string" } } as const;

await runCommand({ name: "restore", usage, options: Object.keys(options), run });

async function run(words: readonly string[]): Promise<void> {
	const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
	const [path] = positionals;
	if (path === undefined || positionals.length > 1) throw new UsageError("Name the one file to restore.");
	if (!existsSync(path)) throw new UsageError(`There is no file ${path}.`);
	const passphrase = readPassphrase(values["passphrase-file"]);
	const settings = readSettings(process.env);
	const { dataDir, releasesDir } = settings;
	const isShared = await requireUnusedServers();
	const archive = createReadStream(path);
	const about = await restore({ archive, dataDir, releasesDir, passphrase, disk: fs, onProblem: print });
	print(`${dataDir} is as it was at ${about.createdAt}, with gateway ${about.gateway}: ${describe(about)}.`);
	if (process.getuid?.() === 0 && (await fs.stat(dataDir)).uid === 0)
		print(
			`${dataDir} belongs to root: give it to the gateway's user, if that is another one and not systemd's.`,
		);
	const hasImages = about.files.some(({ name }) => name.startsWith("releases/"));
	if (!hasImages) print("No images are in it: RELEASES_DIR must have those of rollouts that go on.");
	if (about.files.some(({ name }) => name.startsWith("data/webhooks.json")))
		print(`Webhooks need WEBHOOKS_FILE=${dataDir}/webhooks.json.`);
	if (isShared)
		print(
			"Start the gateway of this folder before any other: it moves the data to the servers of NATS_URL, which have none.",
		);
	print("Settings of the environment are not in it: set them as before, and start the gateway.");
}

/** Requires that the servers of NATS_URL are empty, since a gateway would keep their data. @returns whether NATS_URL is set @throws {Error} */
async function requireUnusedServers(): Promise<boolean> {
	const { peers } = await joinCluster({ extensions: [], environment: process.env }, createLog("silent"));
	try {
		const buckets = (await peers?.bus?.buckets()) ?? [];
		const [used, ...more] = buckets.filter((name) => name.startsWith("gw-"));
		if (used === undefined) return peers !== undefined;
		throw new Error(
			`The servers of NATS_URL have data of gateways (${used} and ${more.length} more), and a restore replaces nothing: stop the gateways and delete the streams there whose names have gw-, or set NATS_URL to other servers.`,
		);
	} catch (error) {
		if (!(error instanceof BusError)) throw error;
		throw new Error(
			"The servers of NATS_URL cannot be reached, so it is not known whether they are empty: start them.",
		);
	} finally {
		await peers?.close();
	}
}

/** Summarizes the files: "300 devices, 12 labels". */
function describe({ files }: About): string {
	const counts = new Map<string, number>();
	for (const { name } of files) {
		const [root, folder = "", file] = name.split("/");
		const what =
			root === "releases" ? "files of releases" : file === undefined ? folder.split(".")[0] : folder;
		if (what) counts.set(what, (counts.get(what) ?? 0) + 1);
	}
	return [...counts].map(([what, count]) => `${count} ${what}`).join(", ");
}
