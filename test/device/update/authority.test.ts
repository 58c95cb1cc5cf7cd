import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readAuthority } from "../../../device/update/authority.js";

const block = (text: string) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`;

describe("certificate authority of a command", () => {
	test("is the first certificate in the text", () =>
		assert.equal(readAuthority(`${block("MAMCAQU=")}${block("MAMCAQY=")}`), "MAMCAQU="));

	for (const [what, pem] of [
		["without a certificate", ""],
		["with a key only", "-----BEGIN PRIVATE KEY-----\nMAMCAQU=\n-----END PRIVATE KEY-----\n"],
		["that is truncated", block("MAMCAQU=").slice(0, -8)],
		["with an empty block", block("")],
		["with invalid base64", block("MAM?AQU=")],
		["with truncated base64", block("MAMCAQU")],
		["whose end precedes its start", `-----END CERTIFICATE-----${block("").slice(0, 30)}MAMC`],
	] as const)
		test(`rejects a text ${what} and names what to change`, () => {
			assert.throws(() => readAuthority(pem), /^Error: cert_pem must be a certificate in PEM/);
		});
});
