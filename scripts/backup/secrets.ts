/** Encryption of secret files in a backup with a passphrase: AES-256-GCM with a key derived by scrypt (RFC 7914). */

import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { messageOf } from "../../device/message-of.js";
import type { Scrypt } from "../../gateway/backup/archive.js";
import { UsageError } from "../command-line/command.js";

const algorithm = "aes-256-gcm";
const ivBytes = 12;
const tagBytes = 16;
const shortest = 8;

/** Parameters recommended by OWASP: 128 MB for each guess. */
export function makeScrypt(): Scrypt {
	return { salt: randomBytes(16).toString("base64"), cost: 2 ** 17, blockSize: 8, parallelization: 1 };
}

/** Derives a key. Editors and systems store a passphrase in different Unicode forms, and some with a byte order mark. */
export function keyOf(passphrase: string, { salt, cost, blockSize, parallelization }: Scrypt): Buffer {
	const maxmem = 256 * cost * blockSize;
	const normalized = passphrase.replace(/^\ufeff/, "").normalize("NFC");
	return scryptSync(normalized, Buffer.from(salt, "base64"), 32, {
		cost,
		blockSize,
		parallelization,
		maxmem,
	});
}

/** @param name name of the file, which is authenticated too */
export function encrypt(key: Buffer, name: string, content: Buffer): Buffer {
	const iv = randomBytes(ivBytes);
	const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(name));
	const encrypted = [cipher.update(content), cipher.final()];
	return Buffer.concat([iv, cipher.getAuthTag(), ...encrypted]);
}

/** @returns undefined for a wrong key */
export function decrypt(key: Buffer, name: string, content: Buffer): Buffer | undefined {
	const tag = content.subarray(ivBytes, ivBytes + tagBytes);
	try {
		const decipher = createDecipheriv(algorithm, key, content.subarray(0, ivBytes));
		decipher.setAAD(Buffer.from(name)).setAuthTag(tag);
		return Buffer.concat([decipher.update(content.subarray(ivBytes + tagBytes)), decipher.final()]);
	} catch {
		return undefined;
	}
}

/** Reads the first line of a file; undefined without a file. @throws {UsageError} */
export function readPassphrase(file: string | undefined): string | undefined {
	if (file === undefined) return undefined;
	let text: string;
	try {
		text = readFileSync(file, "utf8");
	} catch (error) {
		throw new UsageError(`Reading the passphrase failed: ${messageOf(error)}.`);
	}
	const [passphrase = ""] = text.split(/[\r\n]/);
	if (passphrase.length >= shortest) return passphrase;
	throw new UsageError(`The passphrase in the first line of ${file} has fewer than ${shortest} characters.`);
}
