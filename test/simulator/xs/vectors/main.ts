/**
 * Runs the vectors of Project Wycheproof through the device's signature check in the SDK's XS, and traces failures
 * and the duration.
 */

import Resource from "Resource";
import { Sha256 } from "moddable/sha256";
import Time from "time";
import { finish } from "update/p256";
import { SignatureCheck, wrongSignature } from "update/signature";

interface Vectors {
	readonly testGroups: readonly {
		readonly key: string;
		readonly tests: readonly {
			readonly tcId: number;
			readonly msg: string;
			readonly sig: string;
			readonly result: string;
		}[];
	}[];
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

export default function main(): void {
	const text = String.fromArrayBuffer(new Resource("ecdsa_secp256r1_sha256_p1363_test.json").slice(0));
	const { testGroups }: Vectors = JSON.parse(text);
	let count = 0;
	const start = Time.ticks;
	for (const { key, tests } of testGroups)
		for (const { tcId, msg, sig, result } of tests) {
			count += 1;
			const isTaken = findProblem(key.slice(2), fromHex(msg), toBase64(fromHex(sig))) === undefined;
			if (isTaken !== (result === "valid")) trace(`wrong: ${tcId}\n`);
		}
	trace(`${count} vectors in ${Time.delta(start)} ms\n`);
}

function findProblem(keys: string, message: Uint8Array, signature: string): string | undefined {
	const digest = new Sha256();
	digest.write(message);
	try {
		const check = SignatureCheck.begin(keys, signature);
		return check && !finish(check.verify(digest.close())) ? wrongSignature : undefined;
	} catch (error) {
		return String(error);
	}
}

function fromHex(hex: string): Uint8Array {
	return Uint8Array.from({ length: hex.length / 2 }, (_, index) =>
		Number.parseInt(hex.slice(2 * index, 2 * index + 2), 16),
	);
}

function toBase64(bytes: Uint8Array): string {
	let text = "";
	for (let at = 0; at < bytes.length; at += 3) {
		const bits = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
		for (let letter = 0; letter < 4; letter++)
			text += at + letter > bytes.length ? "=" : alphabet[(bits >> (18 - 6 * letter)) & 63];
	}
	return text;
}
