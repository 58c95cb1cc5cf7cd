/**
 * What `npm run flash` was told, and everything that is missing from it, a sentence each: a board flashed with half its
 * settings blinks red and does not say why.
 */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseGatewayUrl } from "../../device/network/gateway-url.js";
import { type Model, models } from "../../device/protocol/schema.js";
import { ArgumentProblems, Problems } from "../command-line/problems.js";
import type { BoardSettings } from "./flash-image.js";

export const usage = `npm run flash -- dev-1|proto-1 ssid=… password=… gateway=ws://192.168.1.20:8080/device token=…
  ca=ca.pem           for wss, and for updates over https: the certificate authority of the server's certificate
  sntp=pool.ntp.org   the time server
  port=/dev/ttyACM0   the board's serial port, where more than one is connected
npm run flash -- dev-1|proto-1 keep [port=…]   writes the firmware alone: the board keeps its settings
The token is the gateway's device token; without token= it comes from DEVICE_TOKEN, else from the data folder (DATA_DIR, or
data) of the gateway on this computer. An open network has an empty password=.`;

const names = ["ssid", "password", "gateway", "token", "ca", "sntp", "port"] as const;
type Name = (typeof names)[number];

export interface FlashArguments {
	readonly model: Model;
	/** Undefined: the board keeps those that it has. */
	readonly settings: BoardSettings | undefined;
	/** Serial port; undefined: to be found. */
	readonly port: string | undefined;
}

export interface ArgumentsOptions {
	/** The command line behind the script's name. */
	readonly words: readonly string[];
	/** Called where no token was given. Throws an Error that says how to come by one. */
	readonly findToken: () => string;
}

/** @throws ArgumentProblems */
export function readArguments({ words, findToken }: ArgumentsOptions): FlashArguments {
	const [first, ...others] = words;
	const problems = new Problems();
	const model = models.find((one) => one.toLowerCase() === first?.toLowerCase());
	if (!model) problems.add(modelProblem(first));
	const given = readPairs(others, problems);
	const { port } = given;
	const isKept = others.includes("keep");
	const settings = isKept ? undefined : readSettings(given, problems, findToken);
	if (isKept && names.some((name) => name !== "port" && given[name] !== undefined))
		problems.add("keep leaves the board's settings as they are: say it without others.");
	if (problems.sentences.length > 0 || !model) throw new ArgumentProblems(problems.sentences);
	return { model, settings, port: port || undefined };
}

function readSettings(given: Given, problems: Problems, findToken: () => string): BoardSettings {
	checkNetwork(given, problems);
	const ca = checkGateway(given, problems);
	const token = given.token || problems.attempt(() => tokenFrom(findToken));
	const { ssid, password, gateway, sntp } = given;
	return settingsOf({ ssid, password, gateway, token, ca, sntp });
}

/** Those of the values that were given. */
export function settingsOf(values: Readonly<Record<string, string | undefined>>): BoardSettings {
	const given = Object.entries(values).flatMap(([name, value]) => (value ? [[name, value] as const] : []));
	return Object.fromEntries(given);
}

function modelProblem(word: string | undefined): string {
	const list = models.map((model) => model.toLowerCase()).join(" or ");
	if (word === undefined) return `The model is missing: say ${list} first.`;
	return `The model comes first, ${list}${word.includes("=") ? "." : `, not ${word}.`}`;
}

type Given = Partial<Record<Name, string>>;

function readPairs(pairs: readonly string[], problems: Problems): Given {
	const given: Given = {};
	for (const [index, pair] of pairs.entries()) {
		if (pair === "keep") continue;
		const equals = pair.indexOf("=");
		const name = names.find((one) => one === pair.slice(0, equals));
		if (name !== undefined) given[name] = pair.slice(equals + 1);
		// The word itself is not shown: it may be half of a password.
		else
			problems.add(
				`Word ${index + 2} is no setting. There are ${names.map((one) => `${one}=`).join(" ")}, keep alone, and a value with a space in it needs quotes.`,
			);
	}
	return given;
}

function checkNetwork({ ssid, password }: Given, problems: Problems): void {
	if (!ssid) problems.add("ssid=… is missing: the name of the Wi-Fi network.");
	else if (Buffer.byteLength(ssid) > 32)
		problems.add("ssid is longer than 32 bytes, which no Wi-Fi network's name is.");
	if (password === undefined)
		problems.add("password=… is missing; for an open network write password= and nothing.");
	else if (password !== "" && (password.length < 8 || password.length > 63))
		problems.add("password must have 8 to 63 characters, as every WPA password has.");
}

/** @returns the gateway's certificate authority, where there is one */
function checkGateway({ gateway, ca }: Given, problems: Problems): string | undefined {
	if (!gateway)
		problems.add(
			"gateway=… is missing: the address that npm start prints, e.g. ws://192.168.1.20:8080/device.",
		);
	const url = gateway ? problems.attempt(() => parseGateway(gateway)) : undefined;
	if (url && isThisComputer(url.host))
		problems.add(
			`A board cannot reach ${url.host}: say the gateway's address in your network, and start it with HOST=0.0.0.0.`,
		);
	return url?.isSecure || ca ? problems.attempt(() => readAuthority(ca)) : undefined;
}

/** @throws Error whose message is a sentence */
export function parseGateway(gateway: string): ReturnType<typeof parseGatewayUrl> {
	try {
		return parseGatewayUrl(gateway);
	} catch (error) {
		throw new Error(error instanceof Error ? `${error.message}.` : String(error));
	}
}

/** Whether that name of a host means whoever says it. */
export function isThisComputer(host: string): boolean {
	return /^(localhost|127(\.\d+){3}|0\.0\.0\.0)$/i.test(host);
}

export const authorityMissing =
	"wss needs ca=…: the PEM file of the certificate authority that signed the gateway's certificate.";

/** Of a value in ESP-IDF's NVS, as base64. */
const longestAuthority = 3996;

/**
 * @param file a certificate in PEM or DER
 * @returns its DER in base64, as the firmware takes it
 * @throws Error
 */
export function readAuthority(file: string | undefined): string {
	if (!file) throw new Error(authorityMissing);
	const base64 = certificateIn(file).raw.toString("base64");
	if (base64.length > longestAuthority)
		throw new Error(`${file} is too long: a device has room for a certificate of 2997 bytes in DER.`);
	return base64;
}

function certificateIn(file: string): X509Certificate {
	try {
		return new X509Certificate(readFileSync(file));
	} catch {
		throw new Error(`${file} cannot be read as a certificate: ca=… takes a PEM file.`);
	}
}

/** @throws Error that says how to come by one */
export function tokenFrom(findToken: () => string): string {
	try {
		return findToken();
	} catch (error) {
		throw new Error(`token=… is missing: ${error instanceof Error ? error.message : error}.`);
	}
}
