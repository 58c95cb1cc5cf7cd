/** Parses and checks the command line of `npm run qemu`. */

import { type InstalledSetting, installedSettings } from "../../device/protocol/messages.js";
import { isLoopback } from "../../hosts/esp32/nvs-settings.js";
import { inputExamples } from "../../hosts/virtual/node/input.js";
import { type DeviceSettings, modelNames, readGateway, settingsOf } from "../command-line/device-settings.js";
import type { Problems } from "../command-line/problems.js";
import { readDeviceWords } from "../command-line/setting-words.js";
import { anyVersionFlag } from "../moddable/sdk.js";

/** Address of this computer in the user network of QEMU, where 127.0.0.1 is the device itself. */
const hostAddress = "10.0.2.2";

export const usage = `Usage: npm run qemu -- ${modelNames.join("|")} --gateway ws://127.0.0.1:8080/device [token=…]
       npm run qemu -- ${modelNames.join("|")} keep                    does not build: starts the flash that the last run left
       npm run qemu -- ${modelNames.join("|")} build [version=1.1.0]   only builds an image, to upload to the gateway as an update

Builds the firmware of a board and runs it in a QEMU with an ESP32-S3 and the parts of the board. Without token=, the device token is
DEVICE_TOKEN, or that in the data folder (DATA_DIR, or data) of the gateway on this computer. Accepts input lines:
${inputExamples}

  ca=ca.pem           for wss, and for updates by https: the authority that signed the server's certificate
  sntp=pool.ntp.org   the time server
  version=1.1.0       of the image; default: package.json's
  --any-version       also with another Moddable SDK or ESP-IDF than npm run doctor asks for`;

type NetworkSetting = "ssid" | "password" | "ssid2" | "password2";
/** Placeholder, since the network of QEMU is wired. */
const settingNames = installedSettings.filter(
	(name): name is Exclude<InstalledSetting, NetworkSetting> => !/^(ssid|password)2?$/.test(name),
);
const names = [...settingNames, "version"] as const;
const modes = ["build", "keep"] as const;
type Values = { readonly [Name in (typeof settingNames)[number]]?: string };
export const known = { names, flags: [...modes, anyVersionFlag] };

/** @returns arguments, in which no settings keep those of the device @throws UsageError with all errors */
export function readArguments(words: readonly string[]) {
	return readDeviceWords(words, known, ({ values: { version, ...values }, flags }, problems) => {
		const mode = modes.find((name) => flags.includes(name)) ?? "run";
		const hasSettings = Object.keys(values).length > 0;
		if (mode === "keep" && (hasSettings || version !== undefined))
			problems.add("keep cannot be combined with settings or version=, since it changes nothing.");
		if (mode === "build" && hasSettings)
			problems.add("build accepts version= only, since an image contains no settings.");
		return { settings: mode === "run" ? readSettings(values, problems) : undefined, mode, version };
	});
}

function readSettings(values: Values, problems: Problems): DeviceSettings {
	const { url, ca, token } = readGateway(values, problems);
	const { gateway: given = "" } = values;
	if (!given)
		problems.add("Specify gateway=…, the address that npm start prints, such as ws://127.0.0.1:8080/device.");
	const host = url && hostInQemu(url.host);
	const gateway = given.replace(/^(wss?:\/\/)[^/:]+/i, `$1${host}`);
	if (host !== url?.host)
		console.log(
			`In QEMU, this computer is ${host}: the device connects to ${gateway}${url?.isSecure ? ", and the certificate of the gateway must include it" : ""}.`,
		);
	const sntp = values.sntp && hostInQemu(values.sntp);
	return settingsOf({ ...values, ssid: "qemu", gateway, token, ca, sntp });
}

function hostInQemu(host: string): string {
	return isLoopback(host) ? hostAddress : host;
}
