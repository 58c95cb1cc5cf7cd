/** `npm run restore`: restores the data folder of a gateway from a backup. */

import { createReadStream, existsSync } from "node:fs";
import fs from "node:fs/promises";
import { BusError } from "../gateway/bus.js";
import { joinCluster } from "../gateway/extensions.js";
import { readSettings } from "../gateway/settings.js";
import { createLog } from "../gateway/telemetry/log.js";
import { restore } from "./backup/restore.js";
import { readPassphrase } from "./backup/secrets.js";
import { type Arguments, onlyArgument, print, runCommand, UsageError } from "./command-line/command.js";

const usage = `Usage: npm run restore -- file.tar.gz [--passphrase-file file]

Restores a file created by npm run backup to DATA_DIR (default data), and images to RELEASES_DIR (default releases). Both folders
must be missing or empty, as must the servers of NATS_URL, if set. The whole file is verified first; a failure changes nothing.

  --passphrase-file file   decrypt tokens and webhooks with the first line of this file`;

const options = { "passphrase-file": { type: "string" } } as const;

await runCommand({ name: "restore", usage, options, allowPositionals: true, run });

async function run({ values, positionals }: Arguments<typeof options>): Promise<void> {
	const path = onlyArgument(positionals, "Specify one file to restore.");
	if (!existsSync(path)) throw new UsageError(`File ${path} not found.`);
	const passphrase = readPassphrase(values["passphrase-file"]);
	const settings = readSettings(process.env);
	const { dataDir, releasesDir } = settings;
	const isShared = await requireUnusedServers();
	const archive = createReadStream(path);
	const about = await restore({ archive, dataDir, releasesDir, passphrase, disk: fs, onProblem: print });
	print(`Restored ${dataDir} to ${about.createdAt}, gateway ${about.gateway}: ${about.files.length} files.`);
	if (process.getuid?.() === 0 && (await fs.stat(dataDir)).uid === 0)
		print(
			`${dataDir} is owned by root. Change the owner if the gateway runs as another user, unless systemd manages it.`,
		);
	const hasImages = about.files.some(({ name }) => name.startsWith("releases/"));
	if (!hasImages) print("The backup contains no images. RELEASES_DIR must contain those of active rollouts.");
	if (about.files.some(({ name }) => name.startsWith("data/webhooks.json")))
		print(`Webhooks require WEBHOOKS_FILE=${dataDir}/webhooks.json.`);
	if (isShared)
		print(
			"Start the gateway with this folder before any other. It copies the data to the empty servers of NATS_URL.",
		);
	print("Environment variables are not part of a backup. Set them as before and start the gateway.");
}

/** Requires that the servers of NATS_URL are empty, since a gateway would keep their data. @returns whether NATS_URL is set @throws {Error} */
async function requireUnusedServers(): Promise<boolean> {
	const { peers } = await joinCluster({ extensions: [], environment: process.env }, createLog("silent"));
	try {
		const buckets = (await peers?.bus?.buckets()) ?? [];
		const [used, ...more] = buckets.filter((name) => name.startsWith("gw-"));
		if (used === undefined) return peers !== undefined;
		throw new Error(
			`The servers of NATS_URL contain data of gateways (${used} and ${more.length} more), which a restore does not replace. Stop the gateways and delete the streams whose names contain gw-, or set NATS_URL to other servers.`,
		);
	} catch (error) {
		if (!(error instanceof BusError)) throw error;
		throw new Error(
			"The servers of NATS_URL are unreachable. Start them, so that the restore can verify that they are empty.",
		);
	} finally {
		await peers?.close();
	}
}
