/** Parses and checks the command line of `npm run flash`. */

import { installedSettings } from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import { isThisComputer, passwordProblem, ssidProblem } from "../../hosts/esp32/nvs-settings.js";
import {
	type DeviceSettings,
	findModel,
	modelNames,
	modelProblem,
	parseGateway,
	readAuthority,
	settingsOf,
	tokenByDefault,
} from "../command-line/device-settings.js";
import type { Problems } from "../command-line/problems.js";
import { parseSettingWords, type SettingWords } from "../command-line/setting-words.js";
import { anyVersionFlag, type FindOptions } from "../moddable/sdk.js";

export const usage = `Usage: npm run flash -- ${modelNames.join("|")} ssid=… password=… [gateway=ws://192.168.1.20:8080/device] [token=…]
       npm run flash -- ${modelNames.join("|")} keep [port=…]

Builds the firmware and writes it to a board by USB, with this board's settings; with keep, the board keeps the ones it has.
Then it shows what the board prints, until it has joined its gateway, or says what it waits for.
An open network has an empty password=. Without gateway=, the board finds the gateway itself, if that is in the same network and
its settings allow it (HOST=0.0.0.0, MDNS not off). Without token=, the device token is DEVICE_TOKEN, or that in the data folder
(DATA_DIR, or data) of the gateway on this computer.

  ssid2=… password2=…  a second network: the stronger is tried first, then both in turns
  ca=ca.pem           for wss, and for updates by https: the authority that signed the server's certificate
  sntp=pool.ntp.org   the time server
  port=/dev/ttyACM0   the board's serial port, where more than one is connected
  --any-version       also with another Moddable SDK or ESP-IDF than npm run doctor asks for`;

const names = [...installedSettings, "port"] as const;
const flags = ["keep", anyVersionFlag] as const;
type Values = SettingWords<(typeof names)[number], (typeof flags)[number]>["values"];

export const options: readonly string[] = [...names, ...flags];

export interface FlashArguments extends FindOptions {
	/** Undefined if missing, which is reported as a problem. */
	readonly model: Model | undefined;
	/** Undefined keeps the settings on the board. */
	readonly settings: DeviceSettings | undefined;
	/** Serial port; undefined to detect it. */
	readonly port: string | undefined;
}

/** @param words arguments of the command @param problems collects all errors */
export function readArguments([first, ...others]: readonly string[], problems: Problems): FlashArguments {
	const model = findModel(first);
	if (!model) problems.add(modelProblem(first));
	const { values, flags: given } = parseSettingWords({ words: others, names, flags, position: 2 }, problems);
	const isKept = given.includes("keep");
	const settings = isKept ? undefined : readSettings(values, problems);
	if (isKept && names.some((name) => name !== "port" && values[name] !== undefined))
		problems.add("keep leaves the board's settings as they are: write it without other settings.");
	problems.endOfUsage();
	return { model, settings, port: values.port || undefined, isAnyVersion: given.includes(anyVersionFlag) };
}

function readSettings(values: Values, problems: Problems): DeviceSettings {
	checkNetwork(values, problems);
	const ca = checkGateway(values, problems);
	const token = values.token || problems.attempt(tokenByDefault);
	const { port: _, ...given } = values;
	return settingsOf({ ...given, token, ca });
}

function checkNetwork({ ssid, password, ssid2, password2 }: Values, problems: Problems): void {
	if (!ssid) problems.add("ssid=… is missing: the name of the Wi-Fi network.");
	else problems.add(ssidProblem(ssid));
	if (password === undefined)
		problems.add("password=… is missing; for an open network write password= with nothing after it.");
	else problems.add(passwordProblem(password));
	if (ssid2) problems.add(ssidProblem(ssid2, "second Wi-Fi network"));
	else if (password2) problems.add("password2=… needs ssid2=…: the name of the second Wi-Fi network.");
	problems.add(passwordProblem(password2 ?? ""));
}

/** @returns CA certificate of the gateway, if any */
function checkGateway({ gateway, ca }: Values, problems: Problems): string | undefined {
	const url = gateway ? problems.attempt(() => parseGateway(gateway)) : undefined;
	if (url && isThisComputer(url.host))
		problems.add(
			`A board cannot reach ${url.host}: give the gateway's address in your network, and start it with HOST=0.0.0.0.`,
		);
	return url?.isSecure || ca ? problems.attempt(() => readAuthority(ca)) : undefined;
}
