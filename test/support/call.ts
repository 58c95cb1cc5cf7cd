/** API requests to a running gateway as a monitor. */

import assert from "node:assert/strict";
import { createClient } from "../../gateway/api/client/request.js";
import { bearer, monitorToken } from "./gateway-settings.js";

/** @returns client of a gateway as a monitor, with types by route */
export function clientOf(url: string) {
	return createClient({ base: url, headers: bearer(monitorToken) });
}

/**
 * @param path below `/api/`
 * @param body JSON, or the bytes of a WAV file
 * @returns the parsed body; the status must be 200 to 299
 */
export async function call<T>(url: string, method: string, path: string, body?: object | Buffer): Promise<T> {
	const isFile = Buffer.isBuffer(body);
	const response = await fetch(`${url}/api/${path}`, {
		method,
		// A suspended gateway does not respond.
		signal: AbortSignal.timeout(20_000),
		headers: {
			...bearer(monitorToken),
			...(body && { "Content-Type": isFile ? "audio/wav" : "application/json" }),
		},
		...(body && { body: isFile ? new Uint8Array(body) : JSON.stringify(body) }),
	});
	const text = await response.text();
	assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
	return JSON.parse(text || "null");
}
