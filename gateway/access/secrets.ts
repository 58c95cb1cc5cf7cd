/** Generates, compares and derives secrets. Comparisons take constant time. */

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Generates 256 random bits, in base64url. */
export function generateSecret(): string {
	return randomBytes(32).toString("base64url");
}

/** Compares two secrets, whose lengths are not secret. */
export function equalSecrets(a: string, b: string): boolean {
	const [bytes, others] = [Buffer.from(a), Buffer.from(b)];
	return bytes.length === others.length && timingSafeEqual(bytes, others);
}

export function includesSecret(secrets: readonly string[], presented: string): boolean {
	return secrets.map((secret) => equalSecrets(presented, secret)).includes(true);
}

/** Returns an HMAC-SHA-256 in base64url. */
export function sign(secret: string, text: string): string {
	return createHmac("sha256", secret).update(text).digest("base64url");
}

/** Derives the token of a device, `<deviceId>.<signature>`, which need not be stored. */
export function deviceTokenOf(secret: string, deviceId: string): string {
	return `${deviceId}.${sign(secret, `device ${deviceId}`)}`;
}

/** Validates a derived token. @param secrets device tokens that it may be derived from @returns device id; undefined if invalid */
export function deviceOf(presented: string, secrets: readonly string[]): string | undefined {
	const end = presented.lastIndexOf(".");
	if (end < 0) return undefined;
	const deviceId = presented.slice(0, end);
	const valid = secrets.map((secret) => deviceTokenOf(secret, deviceId));
	return includesSecret(valid, presented) ? deviceId : undefined;
}
