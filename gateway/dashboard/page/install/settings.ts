/** Validation of the form's settings, and their conversion to the format that a device stores. */

import { parseGatewayUrl } from "../../../../device/network/gateway-url.js";
import type { ChangedSettings } from "../../../../device/protocol/messages.js";
import {
	gatewayProblem,
	isThisComputer,
	longestAuthority,
	passwordProblem,
	ssidProblem,
} from "../../../../hosts/esp32/nvs-settings.js";

export interface GivenSettings {
	readonly ssid: string;
	/** Empty for an open network. */
	readonly password: string;
	/** Name of a second network; empty for none. */
	readonly ssid2: string;
	readonly password2: string;
	readonly gateway: string;
	/** CA certificate in PEM, for wss only. */
	readonly authority: string;
}

/** Validation errors by field; undefined for valid ones. */
export function settingsProblems(
	given: GivenSettings,
): Readonly<Record<keyof GivenSettings, string | undefined>> {
	return {
		ssid: ssidProblem(given.ssid),
		password: passwordProblem(given.password),
		ssid2: secondNetworkProblem(given),
		password2: passwordProblem(given.password2),
		gateway: gatewayProblem(given.gateway),
		authority: isSecure(given.gateway) ? authorityProblem(given.authority) : undefined,
	};
}

/** All but the first network, as of set_settings. @param token for this device */
export function changedSettings(given: GivenSettings, token: string): ChangedSettings {
	const { ssid2, password2, gateway, authority } = given;
	return { gateway, token, ssid2, password2, ca: isSecure(gateway) ? authority : "" };
}

/** @param token for this device */
export function storedSettings(given: GivenSettings, token: string): Readonly<Record<string, string>> {
	const { ssid, password, ssid2, password2, gateway } = given;
	const ca = isSecure(gateway) ? derOf(given.authority) : "";
	const values = { ssid, password, ssid2, password2, gateway, token, ca };
	return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}

export function isSecure(gateway: string): boolean {
	return gatewayProblem(gateway) === undefined && parseGatewayUrl(gateway).isSecure;
}

/** Whether the address is local to the gateway's computer, so that a board cannot reach it. */
export function isForThisComputer(gateway: string): boolean {
	return gatewayProblem(gateway) === undefined && isThisComputer(parseGatewayUrl(gateway).host);
}

function secondNetworkProblem({ ssid2, password2 }: GivenSettings): string | undefined {
	return ssid2 === "" && password2 === "" ? undefined : ssidProblem(ssid2, "second Wi-Fi network");
}

function authorityProblem(pem: string): string | undefined {
	const der = derOf(pem);
	if (der === "")
		return "For wss the device needs the certificate of the authority that signed the gateway's, in PEM.";
	if (der.length > longestAuthority)
		return "This certificate is too long: a device has room for one of 2997 bytes in DER.";
	return undefined;
}

/** @returns the first certificate in base64; empty without one */
function derOf(pem: string): string {
	const body = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(pem)?.[1] ?? "";
	return body.replace(/\s/g, "");
}
