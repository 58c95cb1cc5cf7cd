/** Validation of the settings of a board, used by each installer before it writes them. */

import { messageOf } from "../../device/message-of.js";
import { parseGatewayUrl } from "../../device/network/gateway-url.js";
import { longestString } from "./nvs-image.js";

/** Maximum length of the setting `ca` (DER in base64), a multiple of four characters. */
export const longestAuthority = longestString - (longestString % 4);

/** Trims a setting, unless it is a network's name or password, in which leading and trailing spaces are significant. */
export function trimmedSetting(name: string, value: string): string {
	return /^(ssid|password)2?$/.test(name) ? value : value.trim();
}

/** @returns what to change; undefined if `ssid` is a valid network name */
export function ssidProblem(ssid: string, network = "Wi-Fi network"): string | undefined {
	if (ssid === "") return `Enter the name of the ${network}.`;
	if (new TextEncoder().encode(ssid).byteLength > 32)
		return `The name of the ${network} must have at most 32 bytes.`;
	return undefined;
}

/** @param password empty for an open network */
export function passwordProblem(password: string): string | undefined {
	if (password === "" || (password.length >= 8 && password.length <= 63)) return undefined;
	return "The Wi-Fi password must have 8 to 63 characters.";
}

/** @returns what to change; undefined if `gateway` is a valid gateway address */
export function gatewayProblem(gateway: string): string | undefined {
	try {
		parseGatewayUrl(gateway);
		return undefined;
	} catch (error) {
		return `${messageOf(error)}.`;
	}
}

/** @returns whether a host is a loopback address, with which a board would connect to itself */
export function isLoopback(host: string): boolean {
	return /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1\])$/i.test(host);
}
