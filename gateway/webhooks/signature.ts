/** Signs requests according to Standard Webhooks (github.com/standard-webhooks, spec/standard-webhooks.md). */

import { createHmac } from "node:crypto";

const prefix = "whsec_";
/** Key length according to the specification. */
const [fewestBytes, mostBytes] = [24, 64];

/** Whether a secret is valid: `whsec_` and a base64 key, or any text without that prefix. */
export function isUsable(secret: string): boolean {
	const key = keyOf(secret);
	const isCoded = `${prefix}${key.toString("base64")}` === secret;
	return !secret.startsWith(prefix) || (isCoded && key.length >= fewestBytes && key.length <= mostBytes);
}

/**
 * @param secrets newest first; the receiver accepts the signature of any
 * @param id event id without a full stop, the same for each attempt
 * @param at time of the attempt, in milliseconds since 1970
 */
export function signedHeaders(secrets: readonly string[], id: string, at: number, body: string) {
	const timestamp = String(Math.floor(at / 1000));
	const signatures = secrets.map((secret) => {
		const signed = createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.${body}`);
		return `v1,${signed.digest("base64")}`;
	});
	return {
		"webhook-id": id,
		"webhook-timestamp": timestamp,
		"webhook-signature": signatures.join(" "),
	};
}

function keyOf(secret: string): Buffer {
	return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), "base64") : Buffer.from(secret);
}
