/** Generates, compares and derives secrets. Comparisons take constant time. */

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** 256 bits, in base64url. */
export function makeSecret(): string {
	return randomBytes(32).toString("base64url");
}

/** Lengths are not secret. */
export function equalSecrets(a: string, b: string): boolean {
	const [bytes, others] = [Buffer.from(a), Buffer.from(b)];
	return bytes.length === others.length && timingSafeEqual(bytes, others);
}

export function isAmong(shown: string, secrets: readonly string[]): boolean {
	return secrets.map((secret) => equalSecrets(shown, secret)).includes(true);
}

/** HMAC-SHA-256, in base64url. */
export function sign(secret: string, text: string): string {
	return createHmac("sha256", secret).update(text).digest("base64url");
}

/** A device's own token, `<deviceId>.<signature>`, which need not be stored. */
export function deviceTokenOf(secret: string, deviceId: string): string {
	return `${deviceId}.${sign(secret, `device ${deviceId}`)}`;
}

/** @param secrets that it may be derived from @returns the token's device */
export function deviceOf(shown: string, secrets: readonly string[]): string | undefined {
	const end = shown.lastIndexOf(".");
	if (end < 0) return undefined;
	const deviceId = shown.slice(0, end);
	const own = secrets.map((secret) => deviceTokenOf(secret, deviceId));
	return isAmong(shown, own) ? deviceId : undefined;
}
