/** Validates device settings of a command line. */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseGatewayUrl } from "../../device/network/gateway-url.js";
import { type Model, models } from "../../device/protocol/schema.js";
import { longestAuthority } from "../../hosts/esp32/nvs-settings.js";
import { findGatewayToken } from "./gateway-token.js";
import type { Problems } from "./problems.js";

/** Settings by name, as in device/settings.ts. */
export type DeviceSettings = Readonly<Record<string, string>>;

export const modelNames = models.map((model) => model.toLowerCase());

export function findModel(word: string | undefined): Model | undefined {
	return models.find((model) => model.toLowerCase() === word?.toLowerCase());
}

/** Removes settings without a value. */
export function settingsOf(values: Readonly<Record<string, string | undefined>>): DeviceSettings {
	const entries = Object.entries(values).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
	return Object.fromEntries(entries);
}

/**
 * Checks the address of the gateway and its CA certificate, a file in PEM or DER, and finds the token.
 * @returns the parsed address, the token, and the certificate's DER in base64
 */
export function readGateway({ gateway, ca: file, token }: GatewaySettings, problems: Problems) {
	const url = gateway ? problems.attempt(() => parseGatewayUrl(gateway)) : undefined;
	if (url?.isSecure && !file)
		problems.add("wss requires ca=…, the PEM file of the authority that signed the gateway's certificate.");
	return {
		url,
		ca: file ? problems.attempt(() => readAuthority(file)) : undefined,
		token: token ?? problems.attempt(() => findGatewayToken("device")),
	};
}

interface GatewaySettings {
	readonly gateway?: string;
	readonly ca?: string;
	/** Default: that of the gateway on this computer. */
	readonly token?: string;
}

/** @returns DER in base64 @throws Error */
function readAuthority(file: string): string {
	let certificate: X509Certificate;
	try {
		certificate = new X509Certificate(readFileSync(file));
	} catch {
		throw new Error(`${file} is not a certificate. ca=… requires a PEM file.`);
	}
	const base64 = certificate.raw.toString("base64");
	if (base64.length <= longestAuthority) return base64;
	throw new Error(`${file} is too long: a device stores a certificate of at most 2997 bytes in DER.`);
}
