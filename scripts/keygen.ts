/** `npm run keygen`: generates a key pair for signing releases outside of the repository, and prints the public key. */

import { generateKeyPairSync } from "node:crypto";
import { chmodSync, existsSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { errorCode } from "../gateway/problem.js";
import { runCommand, UsageError } from "./command-line/command.js";
import { projectFolder } from "./command-line/project.js";

const usage = `Usage: npm run keygen -- ../release-key.pem

Makes a key of ECDSA P-256 that signs releases, readable by you alone, in a folder outside of this repository, and beside it
the file with its public half, release-key.public.pem. Existing files are never overwritten.`;

await runCommand({ name: "keygen", usage, run });

function run(words: readonly string[]): void {
	const { positionals } = parseArgs({ args: [...words], allowPositionals: true });
	const [name] = positionals;
	if (name === undefined || positionals.length > 1) throw new UsageError("The file of the key is missing.");
	const file = locate(name);
	const publicFile = file.replace(/(\.pem)?$/, ".public.pem");
	if (existsSync(publicFile))
		throw new Error(`${publicFile} exists; it is left as it is. Choose another name.`);
	const { privateKey, publicKey } = generateKeyPairSync("ec", {
		namedCurve: "P-256",
		privateKeyEncoding: { type: "pkcs8", format: "pem" },
		publicKeyEncoding: { type: "spki", format: "pem" },
	});
	write(file, privateKey, 0o600);
	write(publicFile, publicKey, 0o644);
	console.log(`The private key is in ${file}: keep it and a copy of it where only you can read them.
Sign with it: npm run release -- 1.4.0 --key ${file}

The public key is in ${publicFile}:

${publicKey}
Set RELEASE_KEYS=${publicFile} for npm start, so that the gateway refuses other firmware, and for
npm run flash, device, simulator and qemu, so that their firmware does. Releases signed with --key bring it along.`);
}

/** Resolves a file in an existing folder. @throws Error if the folder is in the repository */
function locate(name: string): string {
	const path = resolve(name);
	const folder = dirname(path);
	if (!existsSync(folder)) throw new Error(`The folder ${folder} is missing; make it first.`);
	// A symbolic link may lead into it.
	const file = join(realpathSync(folder), path.slice(folder.length));
	const fromProject = relative(realpathSync(projectFolder), file);
	if (!fromProject.startsWith(".."))
		throw new Error(
			`${file} is in the repository, from where it might be published; choose a place outside of it.`,
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
		throw new Error(
			`${file} exists; it is left as it is, since devices may need what it signs. Choose another name.`,
		);
	}
}
