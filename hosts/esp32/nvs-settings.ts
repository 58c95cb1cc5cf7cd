/** What a person may give as the settings of a board: checked by each installer before it writes them. */

import { parseGatewayUrl } from "../../device/network/gateway-url.js";
import { longestString } from "./nvs-format.js";

/** Of the setting `ca`, which is DER in base64: whole groups of four characters. */
export const longestAuthority = longestString - (longestString % 4);

/** Space at the ends of a network's name or password counts; around other settings it is left from pasting, or a file's line end. */
export function trimmedSetting(name: string, value: string): string {
	return /^(ssid|password)2?$/.test(name) ? value : value.trim();
}

/** @returns a sentence that says what to change; undefined where it can be the name of a Wi-Fi network */
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

/** @returns a sentence that says what to change; undefined where it is the address of a gateway */
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
