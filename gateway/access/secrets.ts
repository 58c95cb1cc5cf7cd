/**
 * Secrets: how they are made, compared and derived. A comparison that ends at the first wrong character tells a patient
 * guesser how much of the guess was right.
 */

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** A secret of 256 bits, fit for a URL. */
export function makeSecret(): string {
	return randomBytes(32).toString("base64url");
}

/** Whether two secrets are equal, in a time that says nothing about where they differ; their lengths are no secret. */
export function equalSecrets(a: string, b: string): boolean {
	const [bytes, others] = [Buffer.from(a), Buffer.from(b)];
	return bytes.length === others.length && timingSafeEqual(bytes, others);
}

/** Whether a secret is one of these, in a time that says nothing about which. */
export function isAmong(shown: string, secrets: readonly string[]): boolean {
	return secrets.map((secret) => equalSecrets(shown, secret)).includes(true);
}

/** @returns a signature of `text`, fit for a URL */
export function sign(secret: string, text: string): string {
	return createHmac("sha256", secret).update(text).digest("base64url");
}

/** The token of a single device, `<deviceId>.<signature>`: nobody has to keep it, and it names the device by itself. */
export function deviceTokenOf(secret: string, deviceId: string): string {
	return `${deviceId}.${sign(secret, `device ${deviceId}`)}`;
}

/**
 * The device whose own token this is.
 *
 * @param secrets any of which it may have been derived from
 */
export function deviceOf(shown: string, secrets: readonly string[]): string | undefined {
	const deviceId = shown.slice(0, Math.max(0, shown.lastIndexOf(".")));
	const own = secrets.map((secret) => deviceTokenOf(secret, deviceId));
	return isAmong(shown, own) ? deviceId : undefined;
}
