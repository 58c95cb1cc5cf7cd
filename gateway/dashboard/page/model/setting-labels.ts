/** Labels and fields of device settings. */

import type { ChangedSettings } from "../../../../device/protocol/messages.js";

export const settingLabels: Readonly<Record<keyof ChangedSettings, string>> = {
	ssid: "Wi-Fi name",
	password: "Wi-Fi password",
	ssid2: "Second Wi-Fi name",
	password2: "Second Wi-Fi password",
	gateway: "Gateway address",
	token: "Token",
	sntp: "Time server",
	ca: "Certificate authority (PEM)",
};

/** Types of fields other than a line of text. */
export const settingTypes: Readonly<Partial<Record<keyof ChangedSettings, "password" | "lines">>> = {
	password: "password",
	password2: "password",
	token: "password",
	ca: "lines",
};
