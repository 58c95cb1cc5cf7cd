/** `npm run keygen`: generates a key pair for signing releases outside of the repository, and prints the public key. */

import { generateKeyPairSync } from "node:crypto";
import { chmodSync, existsSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { errorCode } from "../gateway/problem.js";
import { type Arguments, onlyArgument, runCommand } from "./command-line/command.js";
import { projectFolder } from "./command-line/project.js";

const usage = `Usage: npm run keygen -- ../release-key.pem

Generates an ECDSA P-256 key pair for signing releases in a folder outside of this repository: the private key, readable by you
only, and release-key.public.pem. Existing files are never overwritten.`;

await runCommand({ name: "keygen", usage, options: {}, allowPositionals: true, run });

function run({ positionals }: Arguments): void {
	const file = locate(onlyArgument(positionals, "Specify the file of the key."));
	const publicFile = file.replace(/(\.pem)?$/, ".public.pem");
	if (existsSync(publicFile)) throw new Error(`${publicFile} already exists. Choose another name.`);
	const { privateKey, publicKey } = generateKeyPairSync("ec", {
		namedCurve: "P-256",
		privateKeyEncoding: { type: "pkcs8", format: "pem" },
		publicKeyEncoding: { type: "spki", format: "pem" },
	});
	write(file, privateKey, 0o600);
	write(publicFile, publicKey, 0o644);
	console.log(`Private key: ${file}. Keep it and a backup of it where only you can read them.
Sign a release: npm run release -- 1.4.0 --key ${file}

Public key: ${publicFile}

${publicKey}
Set RELEASE_KEYS=${publicFile} for npm start, so that the gateway rejects other firmware, and for
npm run flash, device, simulator and qemu, so that their firmware does. Releases signed with --key include it.`);
}

/** Resolves a file in an existing folder. @throws Error if the folder is in the repository */
function locate(name: string): string {
	const path = resolve(name);
	const folder = dirname(path);
	if (!existsSync(folder)) throw new Error(`Folder ${folder} not found. Create it first.`);
	// A symbolic link may lead into the repository.
	const file = join(realpathSync(folder), path.slice(folder.length));
	const fromProject = relative(realpathSync(projectFolder), file);
	if (!fromProject.startsWith(".."))
		throw new Error(
			`${file} is in the repository, where it could be published. Choose a folder outside of it.`,
		);
	return file;
}

function write(file: string, content: string, mode: number): void {
	try {
		writeFileSync(file, content, { mode, flag: "wx" });
		// The umask may have removed bits.
		chmodSync(file, mode);
	} catch (error) {
		if (errorCode(error) !== "EEXIST") throw error;
		throw new Error(`${file} already exists and devices may rely on it. Choose another name.`);
	}
}
