/**
 * What `npm run qemu` was told. The virtual network inside QEMU has this computer at 10.0.2.2: an address that means this
 * computer outside would mean the device itself in there, so it is rewritten, and that is said.
 */

import {
	type ArgumentsOptions,
	authorityMissing,
	isThisComputer,
	parseGateway,
	readAuthority,
	settingsOf,
	tokenFrom,
} from "../boards/flash-arguments.js";
import type { BoardSettings } from "../boards/flash-image.js";
import { ArgumentProblems, Problems } from "../command-line/problems.js";

/** QEMU's user network: the computer that it runs on. */
export const hostAddress = "10.0.2.2";

export const usage = `npm run qemu -- --gateway ws://127.0.0.1:8080/device [token=…]
  token=              the gateway's device token; else DEVICE_TOKEN, else that of the gateway on this computer
  ca=ca.pem           for wss, and for updates over https: the certificate authority of the server's certificate
  sntp=pool.ntp.org   the time server
  version=1.1.0       in the image; default: package.json's
npm run qemu -- keep                  builds nothing: the device goes on with the flash that the last run left
npm run qemu -- keep --gateway …      the same with other settings
npm run qemu -- build version=1.1.0   builds an image alone, to upload to the gateway as an update`;

const names = ["gateway", "token", "ca", "sntp", "version"] as const;
const modes = ["build", "keep"] as const;
type Name = (typeof names)[number];
type Given = Partial<Record<Name, string>>;

export interface QemuArguments {
	/** Undefined: the device keeps those that it has. */
	readonly settings: BoardSettings | undefined;
	/** What a person should know of what was made of the words: sentences. */
	readonly remarks: readonly string[];
	/** `run` builds and starts, `keep` starts, `build` builds. */
	readonly mode: "run" | (typeof modes)[number];
	/** Of the image; undefined: package.json's. */
	readonly version: string | undefined;
}

/**
 * @param options with words as `--name value`, `--name=value` or `name=value`
 * @throws ArgumentProblems
 */
export function readArguments({ words, findToken }: ArgumentsOptions): QemuArguments {
	const problems = new Problems();
	const { given, mode } = readWords(words, problems);
	const { version, ...others } = given;
	const hasSettings = Object.keys(others).length > 0;
	if (mode === "keep" && version !== undefined)
		problems.add("keep builds nothing, so that version= says nothing: leave one of the two out.");
	if (mode === "build" && hasSettings)
		problems.add("An image holds no settings: build takes version= only; the device keeps its settings.");
	const remarks: string[] = [];
	const settings =
		mode === "run" || (mode === "keep" && hasSettings)
			? readSettings(others, { remarks, problems, findToken })
			: undefined;
	if (problems.sentences.length > 0) throw new ArgumentProblems(problems.sentences);
	return { settings, remarks, mode, version };
}

interface SettingsOptions extends Pick<ArgumentsOptions, "findToken"> {
	readonly remarks: string[];
	readonly problems: Problems;
}

function readSettings(given: Given, { remarks, problems, findToken }: SettingsOptions): BoardSettings {
	const gateway = problems.attempt(() => gatewayFor(given, remarks));
	const ca = given.ca ? problems.attempt(() => readAuthority(given.ca)) : undefined;
	const token = given.token || problems.attempt(() => tokenFrom(findToken));
	const sntp = given.sntp && inside(given.sntp);
	return settingsOf({ ssid: "qemu", gateway, token, ca, sntp });
}

function readWords(
	words: readonly string[],
	problems: Problems,
): { given: Given; mode: QemuArguments["mode"] } {
	const given: Given = {};
	let mode: QemuArguments["mode"] = "run";
	for (let index = 0; index < words.length; index += 1) {
		const position = index + 1;
		const word = words[index] ?? "";
		const text = word.replace(/^--/, "");
		const named = modes.find((one) => one === text);
		if (named) {
			mode = named;
			continue;
		}
		const equals = text.indexOf("=");
		const key = equals < 0 ? text : text.slice(0, equals);
		const name = names.find((one) => one === key);
		if (name === undefined || (equals < 0 && !word.startsWith("--"))) {
			// The word itself is not shown: it may be half of a token.
			const list = names.map((one) => `${one}=`).join(" ");
			problems.add(`Word ${position} is no setting. There are ${list}, and ${modes.join(" and ")}.`);
			continue;
		}
		if (equals < 0) index += 1;
		const value = equals < 0 ? words[index] : text.slice(equals + 1);
		if (value) given[name] = value;
		else problems.add(`${name}= has no value.`);
	}
	return { given, mode };
}

function gatewayFor({ gateway, ca }: Given, remarks: string[]): string {
	if (!gateway)
		throw new Error(
			"The gateway is missing: --gateway and the address that npm start prints, e.g. ws://127.0.0.1:8080/device.",
		);
	const { isSecure, host } = parseGateway(gateway);
	if (isSecure && !ca) throw new Error(authorityMissing);
	const insideHost = inside(host);
	if (insideHost === host) return gateway;
	const url = gateway.replace(/^(wss?:\/\/)[^/:]+/i, `$1${insideHost}`);
	remarks.push(`Inside QEMU, ${insideHost} is this computer: the device connects to ${url}.`);
	if (isSecure) remarks.push(`The gateway's certificate must be for ${insideHost}, too.`);
	return url;
}

function inside(host: string): string {
	return isThisComputer(host) ? hostAddress : host;
}
