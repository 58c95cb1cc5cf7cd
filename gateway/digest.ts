/** Digests of contents, and ids derived from them. */

import { createHash } from "node:crypto";

/** Returns the SHA-256 in hexadecimal. */
export function sha256Of(content: string | Uint8Array): string {
	return createHash("sha256").update(content).digest("hex");
}

/** Returns an id of 16 hexadecimal digits, the same for the same text. */
export function idOf(text: string): string {
	return sha256Of(text).slice(0, 16);
}
