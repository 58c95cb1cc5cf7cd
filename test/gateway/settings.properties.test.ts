/** Property tests of settings and request headers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseHttpUrl } from "../../device/network/http-url.js";
import {
	baseUrlOf,
	isSameOrigin,
	readForwarded,
	remoteAddressOf,
	targetOf,
	trimmed,
} from "../../gateway/access/origin.js";
import { extensionSettings } from "../../gateway/extensions.js";
import { StartError } from "../../gateway/problem.js";
import { readSettings } from "../../gateway/settings.js";
import { mutatedText, oddText } from "../support/arbitraries.js";
import { incomingRequest } from "../support/incoming-request.js";
import { runs } from "../support/property-runs.js";

/** @returns undefined if rejected with a message that names the variable */
function read(name: string, text: string): ReturnType<typeof readSettings> | undefined {
	try {
		for (const setting of extensionSettings) setting.read({ [name]: text });
		return readSettings({ [name]: text });
	} catch (error) {
		assert.ok(error instanceof StartError, String(error));
		assert.match(error.message, new RegExp(`${name}[^]*([Ss]et|correct|Remove|requires|Write)`));
		return undefined;
	}
}

test("rejects any other environment with a message, or reads valid settings", () => {
	const start = fc.oneof(
		fc.constantFrom(
			"8080",
			"16M",
			"1 KiB",
			"on",
			"off",
			"info",
			"10.0.0.0/8, ::1",
			"loopback",
			"2",
			"a-token-0123456789",
		),
		fc.webUrl({ validSchemes: ["http", "https"], withQueryParameters: true, withFragments: true }),
		oddText,
	);
	const name = fc.constantFrom(
		"PORT",
		"MAX_UPLOAD",
		"LOG_LEVEL",
		"AUTH",
		"IMAGE_CHECK",
		"MDNS",
		"SPEECH_COMMAND",
		"DECODE_COMMAND",
		"NATS_URL",
		"NATS_ALLOW_OLD",
		"PUBLIC_URL",
		"TRUST_PROXY",
		"TZ",
		"DEVICE_TOKEN",
		"MONITOR_TOKEN",
	);
	fc.assert(
		fc.property(name, fc.oneof(start, mutatedText(start)), (variable, text) => {
			const settings = read(variable, text);
			if (!settings) return;
			assert.ok(
				Number.isInteger(settings.port) && settings.port >= 0 && settings.port <= 65_535,
				`port ${settings.port}`,
			);
			assert.ok(
				Number.isSafeInteger(settings.maxUploadBytes) && settings.maxUploadBytes > 0,
				`maximum of ${settings.maxUploadBytes} bytes`,
			);
			assert.equal(
				typeof settings.trustProxy?.("10.0.0.1", 0),
				settings.trustProxy ? "boolean" : "undefined",
			);
			for (const given of [settings.deviceToken, settings.monitorToken])
				if (given !== undefined)
					assert.match(given, /^[\x21-\x2b\x2d-\x7e]{16,512}(,[\x21-\x2b\x2d-\x7e]{16,512})?$/);
			if (settings.publicUrl) {
				const url = new URL(`${trimmed(settings.publicUrl)}/ota/firmware.bin`);
				assert.match(url.pathname, /\/ota\/firmware\.bin$/);
			}
		}),
		{ numRuns: runs(3000) },
	);
});

const address = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom("::1", "fe80::1%eth0", "::ffff:127.0.0.1"));
const hostHeader = fc.oneof(
	fc.domain(),
	fc.tuple(fc.ipV4(), fc.nat(70_000)).map((parts) => parts.join(":")),
	fc.ipV6().map((ip) => `[${ip}]`),
	oddText,
	mutatedText(fc.domain()),
);
const headers = fc.record(
	{
		host: hostHeader,
		origin: fc.oneof(
			hostHeader.map((host) => `http://${host}`),
			fc.constant("null"),
			oddText,
		),
		"x-forwarded-for": fc.oneof(
			fc.array(address).map((all) => all.join(", ")),
			oddText,
		),
		forwarded: fc.oneof(
			fc.array(address).map((all) => all.map((each) => `for="[${each}]:80";proto=https`).join(",")),
			oddText,
		),
		"x-forwarded-proto": fc.oneof(fc.constantFrom("https", "http", "ftp", "https,http"), oddText),
		"x-forwarded-host": hostHeader,
		"sec-fetch-site": fc.constantFrom("none", "same-origin", "cross-site", ""),
	},
	{ requiredKeys: [] },
);

test("determines address, base URL and same-origin state for any headers", () => {
	const publicUrl = fc.constantFrom(undefined, new URL("https://gateway.example/audio/"));
	fc.assert(
		fc.property(address, headers, publicUrl, fc.boolean(), (local, given, published, isTrusted) => {
			const request = incomingRequest(local, given);
			readForwarded(request, () => isTrusted);
			assert.notEqual(remoteAddressOf(request), "");
			const base = new URL(`${baseUrlOf(request, published)}/ota/firmware.bin`);
			assert.match(base.protocol, /^https?:$/);
			assert.match(base.pathname, /^(\/audio)?\/ota\/firmware\.bin$/);
			assert.equal(`${base.username}${base.password}${base.search}${base.hash}`, "");
			// Devices cannot use IPv6 literals, underscores or port 0.
			if (/^[a-z0-9.-]+$/.test(base.hostname) && base.port !== "0")
				assert.equal(parseHttpUrl(base.href, "firmware").host, base.hostname);
			if (given.origin !== undefined && !URL.canParse(given.origin))
				assert.equal(isSameOrigin(request, published), false);
			isSameOrigin(request, published);
		}),
		{ numRuns: runs(2000) },
	);
});
