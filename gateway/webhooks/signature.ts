/** Signs requests as the Standard Webhooks specification says (github.com/standard-webhooks, spec/standard-webhooks.md). */

import { createHmac } from "node:crypto";

const prefix = "whsec_";
/** Of a key, by the specification. */
const [fewestBytes, mostBytes] = [24, 64];

/** Whether the secret can be used: after `whsec_` there must be the base64 of a key; without it the secret is any text. */
export function isUsable(secret: string): boolean {
	const key = keyOf(secret);
	const isCoded = `${prefix}${key.toString("base64")}` === secret;
	return !secret.startsWith(prefix) || (isCoded && key.length >= fewestBytes && key.length <= mostBytes);
}

/**
 * @param secrets the new one first; the receiver takes the signature of any
 * @param id of the event, the same at each attempt; without a full stop
 * @param at of the attempt, in milliseconds since 1970
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
