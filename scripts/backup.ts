/** `npm run backup`: downloads and verifies a backup of a running gateway. */

import { existsSync } from "node:fs";
import fs from "node:fs/promises";
import {
	type ArchiveFile,
	ArchiveReader,
	encryptedSuffix,
	type Scrypt,
	secretFiles,
	writeArchive,
} from "../gateway/backup/archive.js";
import { writeFileAtomic } from "../gateway/storage/atomic-file.js";
import { encrypt, keyOf, makeScrypt, readPassphrase } from "./backup/secrets.js";
import { type Arguments, onlyArgument, print, runCommand, UsageError } from "./command-line/command.js";
import { GatewayClient, gatewayOption } from "./command-line/gateway-client.js";

const usage = `Usage: npm run backup -- file.tar.gz [--releases] [--passphrase-file file]

Downloads a backup of a running gateway: tokens, devices with their labels, updates and crashes, rollouts, schedules, quiet
hours, sounds, audit log, replaced devices, and the webhooks file. It does not contain environment variables. Restore it with
npm run restore.

  --releases               include the images of releases and of the upload
  --passphrase-file file   encrypt tokens and webhooks with the first line of this file; default: not encrypted
  --gateway                default http://127.0.0.1:8080

The monitor token is MONITOR_TOKEN, or that in the data folder (DATA_DIR, or data) of the gateway on this computer.`;

const options = {
	releases: { type: "boolean", default: false },
	"passphrase-file": { type: "string" },
	gateway: gatewayOption,
} as const;

await runCommand({ name: "backup", usage, options, allowPositionals: true, run });

async function run({ values, positionals }: Arguments<typeof options>): Promise<void> {
	const path = onlyArgument(positionals, "Specify one file, such as backup.tar.gz.");
	if (existsSync(path)) throw new UsageError(`${path} already exists. Specify another file.`);
	const passphrase = readPassphrase(values["passphrase-file"]);
	const scrypt = passphrase === undefined ? undefined : makeScrypt();
	const key = passphrase && scrypt && keyOf(passphrase, scrypt);
	const gateway = new GatewayClient(values.gateway);
	const reader = new ArchiveReader(gateway.downloadBackup(values.releases === true));
	const bytes = await write(path, reader, scrypt, key || undefined);
	print(`${path}: ${reader.about?.files.length} files, ${(bytes / 1e6).toFixed(1)} MB.`);
	const { skipped = [] } = reader.about ?? {};
	if (skipped.length > 0) print(`Skipped, since the gateway does not use it: ${skipped.join(", ")}.`);
	if (!key)
		print(
			"It contains unencrypted tokens of all devices and people, readable by you only (mode 0600). Keep it private, or use --passphrase-file.",
		);
}

/** Creates the file once the whole backup was received and verified. @returns its size in bytes */
async function write(
	path: string,
	reader: ArchiveReader,
	scrypt: Scrypt | undefined,
	key: Buffer | undefined,
): Promise<number> {
	const describe = () => {
		const { gateway = "", createdAt = "", skipped = [] } = reader.about ?? {};
		return { gateway, createdAt, skipped, ...(scrypt && { scrypt }) };
	};
	await writeFileAtomic(fs, path, writeArchive(encrypted(reader, key), describe));
	return (await fs.stat(path)).size;
}

async function* encrypted(reader: ArchiveReader, key: Buffer | undefined): AsyncGenerator<ArchiveFile> {
	for await (const file of reader.files()) {
		const { name, content } = file;
		if (!key || !secretFiles.includes(name)) yield file;
		else yield { name: `${name}${encryptedSuffix}`, content: encrypt(key, name, content) };
	}
}
