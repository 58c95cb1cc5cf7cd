/** Parses and checks the command line of `npm run flash`. */

import { installedSettings } from "../../device/protocol/messages.js";
import { isLoopback, passwordProblem, ssidProblem } from "../../hosts/esp32/nvs-settings.js";
import { type DeviceSettings, modelNames, readGateway, settingsOf } from "../command-line/device-settings.js";
import type { Problems } from "../command-line/problems.js";
import { readDeviceWords } from "../command-line/setting-words.js";
import { anyVersionFlag } from "../moddable/sdk.js";

export const usage = `Usage: npm run flash -- ${modelNames.join("|")} ssid=… password=… [gateway=ws://192.168.1.20:8080/device] [token=…]
       npm run flash -- ${modelNames.join("|")} keep [port=…]

Builds the firmware and writes it to a board over USB with the given settings, or with keep, without changing its settings. Then
it prints the output of the board until it connects to its gateway. Use an empty password= for an open network. Without
gateway=, the board discovers the gateway in the same network (requires HOST=0.0.0.0 and MDNS not off). Without token=, the
device token is read from DEVICE_TOKEN, or from the data folder (DATA_DIR, default data) of the gateway on this computer.

  ssid2=… password2=…  second network; the stronger one is tried first, then both in turns
  ca=ca.pem           CA certificate for wss and for updates over https
  sntp=pool.ntp.org   time server
  port=/dev/ttyACM0   serial port, if more than one board is connected
  --any-version       allow other versions of the Moddable SDK and ESP-IDF than npm run doctor requires`;

const names = [...installedSettings, "port"] as const;
type Values = { readonly [Name in (typeof names)[number]]?: string };
export const known = { names, flags: ["keep", anyVersionFlag] };

/** @returns arguments, in which no settings keep those on the board @throws UsageError with all errors */
export function readArguments(words: readonly string[]) {
	return readDeviceWords(words, known, ({ values, flags }, problems) => {
		const isKept = flags.includes("keep");
		if (isKept && names.some((name) => name !== "port" && values[name] !== undefined))
			problems.add("keep cannot be combined with settings, since it does not change them.");
		return { settings: isKept ? undefined : readSettings(values, problems), port: values.port };
	});
}

function readSettings({ port: _, ...values }: Values, problems: Problems): DeviceSettings {
	checkNetwork(values, problems);
	const { url, ca, token } = readGateway(values, problems);
	if (url && isLoopback(url.host))
		problems.add(
			`A board cannot reach ${url.host}. Specify the address of the gateway in your network, and start it with HOST=0.0.0.0.`,
		);
	return settingsOf({ ...values, token, ca });
}

function checkNetwork({ ssid, password, ssid2, password2 }: Values, problems: Problems): void {
	if (!ssid) problems.add("Specify ssid=…, the name of the Wi-Fi network.");
	else problems.add(ssidProblem(ssid));
	if (password === undefined) problems.add("Specify password=…, or an empty password= for an open network.");
	else problems.add(passwordProblem(password));
	if (ssid2) problems.add(ssidProblem(ssid2, "second Wi-Fi network"));
	else if (password2) problems.add("password2=… requires ssid2=…, the name of the second Wi-Fi network.");
	problems.add(passwordProblem(password2 ?? ""));
}
