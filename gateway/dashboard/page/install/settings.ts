/** Validation of the form's settings, and their conversion to the format that a device stores. */

import { parseGatewayUrl } from "../../../../device/network/gateway-url.js";
import type { ChangedSettings } from "../../../../device/protocol/messages.js";
import {
	gatewayProblem,
	isLoopback,
	longestAuthority,
	passwordProblem,
	ssidProblem,
} from "../../../../hosts/esp32/nvs-settings.js";

/** Empty without a password, a second network, or a certificate, which only wss needs. */
export type SettingsInput = Readonly<
	Record<"ssid" | "password" | "ssid2" | "password2" | "gateway" | "ca", string>
>;

/** Validation errors by field; undefined for valid ones. */
export function settingsProblems(
	input: SettingsInput,
): Readonly<Record<keyof SettingsInput, string | undefined>> {
	return {
		ssid: ssidProblem(input.ssid),
		password: passwordProblem(input.password),
		ssid2: secondNetworkProblem(input),
		password2: passwordProblem(input.password2),
		gateway: gatewayProblem(input.gateway),
		ca: isSecure(input.gateway) ? authorityProblem(input.ca) : undefined,
	};
}

/** Payload of set_settings without the first network. */
export function changedSettings(input: SettingsInput, token: string): ChangedSettings {
	const { ssid2, password2, gateway, ca } = input;
	return { gateway, token, ssid2, password2, ca: isSecure(gateway) ? ca : "" };
}

/** Settings by their names in NVS, without empty ones. */
export function storedSettings(input: SettingsInput, token: string): Readonly<Record<string, string>> {
	const { ssid, password, ssid2, password2, gateway } = input;
	const ca = isSecure(gateway) ? derOf(input.ca) : "";
	const values = { ssid, password, ssid2, password2, gateway, token, ca };
	return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
}

export function isSecure(gateway: string): boolean {
	return gatewayProblem(gateway) === undefined && parseGatewayUrl(gateway).isSecure;
}

/** Whether the address is local to the gateway's computer, so that a board cannot reach it. */
export function isForThisComputer(gateway: string): boolean {
	return gatewayProblem(gateway) === undefined && isLoopback(parseGatewayUrl(gateway).host);
}

function secondNetworkProblem({ ssid2, password2 }: SettingsInput): string | undefined {
	return ssid2 === "" && password2 === "" ? undefined : ssidProblem(ssid2, "second Wi-Fi network");
}

function authorityProblem(pem: string): string | undefined {
	const der = derOf(pem);
	if (der === "") return "wss requires the CA certificate of the gateway in PEM.";
	if (der.length > longestAuthority)
		return "Certificate too long: a device stores at most 2997 bytes in DER.";
	return undefined;
}

/** @returns the first certificate in base64; empty without one */
function derOf(pem: string): string {
	const body = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(pem)?.[1] ?? "";
	return body.replace(/\s/g, "");
}
