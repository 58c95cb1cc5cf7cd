/** Validation of the settings of a board, used by each installer before it writes them. */

import { parseGatewayUrl } from "../../device/network/gateway-url.js";
import { longestString } from "./nvs-format.js";

/** Maximum length of the setting `ca` (DER in base64), a multiple of four characters. */
export const longestAuthority = longestString - (longestString % 4);

/** Trims a setting, unless it is a network's name or password, in which leading and trailing spaces are significant. */
export function trimmedSetting(name: string, value: string): string {
	return /^(ssid|password)2?$/.test(name) ? value : value.trim();
}

/** @returns what to change; undefined if `ssid` is a valid network name */
export function ssidProblem(ssid: string, network = "Wi-Fi network"): string | undefined {
	if (ssid === "") return `The name of the ${network} is missing.`;
	if (new TextEncoder().encode(ssid).byteLength > 32)
		return `The name of the ${network} is longer than 32 bytes, which no network has.`;
	return undefined;
}

/** @param password empty for an open network */
export function passwordProblem(password: string): string | undefined {
	if (password === "" || (password.length >= 8 && password.length <= 63)) return undefined;
	return "The password must have 8 to 63 characters, like every WPA password.";
}

/** @returns what to change; undefined if `gateway` is a valid gateway address */
export function gatewayProblem(gateway: string): string | undefined {
	try {
		parseGatewayUrl(gateway);
		return undefined;
	} catch (error) {
		return `${error instanceof Error ? error.message : error}.`;
	}
}

/** Whether a host's name or address always means the computer that uses it: a board would look for the gateway in itself. */
export function isThisComputer(host: string): boolean {
	return /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1\])$/i.test(host);
}
