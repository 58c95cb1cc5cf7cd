/**
 * What `npm run flash` was told, and everything that is missing from it, a sentence each: a board flashed with half its
 * settings blinks red and does not say why.
 */

import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseGatewayUrl } from "../device/network/gateway-url.js";
import { type Model, models } from "../device/protocol/schema.js";

export const usage = `npm run flash -- dev-1|proto-1 ssid=… password=… gateway=ws://192.168.1.20:8080/device token=…
  ca=ca.pem           for wss: the certificate authority of the gateway's certificate
  sntp=pool.ntp.org   the time server
  port=/dev/ttyACM0   the board's serial port, where more than one is connected
The token is the gateway's device token; without token= it comes from DEVICE_TOKEN, else from the data folder (DATA_DIR, or
data) of the gateway on this computer. An open network has an empty password=.`;

const names = ["ssid", "password", "gateway", "token", "ca", "sntp", "port"] as const;
type Name = (typeof names)[number];

/** What stops the flashing: one sentence each. */
export class FlashProblems extends Error {
	readonly sentences: readonly string[];

	constructor(sentences: readonly string[]) {
		super(sentences.join("\n"));
		this.sentences = sentences;
	}
}

export interface FlashArguments {
	readonly model: Model;
	/** `key=value` for mcconfig. */
	readonly settings: readonly string[];
	/** What must not be printed. */
	readonly secrets: readonly string[];
	/** Serial port; undefined: to be found. */
	readonly port: string | undefined;
}

export interface ArgumentsOptions {
	/** The command line behind the script's name. */
	readonly words: readonly string[];
	/** Called where no token was given. Throws an Error that says how to come by one. */
	readonly findToken: () => string;
}

/** @throws FlashProblems */
export function readArguments({ words, findToken }: ArgumentsOptions): FlashArguments {
	const [first, ...pairs] = words;
	const problems: string[] = [];
	const given = readPairs(pairs, problems);
	const model = models.find((one) => one.toLowerCase() === first?.toLowerCase());
	if (!model) problems.unshift(modelProblem(first));
	checkNetwork(given, problems);
	const { ca } = checkGateway(given, problems);
	const token = given.token || tokenOf(findToken, problems);
	if (problems.length > 0 || !model) throw new FlashProblems(problems);

	const values = {
		ssid: given.ssid,
		password: given.password,
		gateway: given.gateway,
		token,
		ca,
		sntp: given.sntp,
	};
	return {
		model,
		settings: Object.entries(values).flatMap(([name, value]) => (value ? [`${name}=${value}`] : [])),
		secrets: [given.password, token].filter((secret): secret is string => Boolean(secret)),
		port: given.port || undefined,
	};
}

function modelProblem(word: string | undefined): string {
	const list = models.map((model) => model.toLowerCase()).join(" or ");
	if (word === undefined) return `The model is missing: say ${list} first.`;
	return `The model comes first, ${list}${word.includes("=") ? "." : `, not ${word}.`}`;
}

type Given = Partial<Record<Name, string>>;

function readPairs(pairs: readonly string[], problems: string[]): Given {
	const given: Given = {};
	for (const [index, pair] of pairs.entries()) {
		const equals = pair.indexOf("=");
		const name = names.find((one) => one === pair.slice(0, equals));
		if (name !== undefined) given[name] = pair.slice(equals + 1);
		// The word itself is not shown: it may be half of a password.
		else
			problems.push(
				`Word ${index + 2} is no setting. There are ${names.map((one) => `${one}=`).join(" ")}, and a value with a space in it needs quotes.`,
			);
	}
	return given;
}

function checkNetwork({ ssid, password }: Given, problems: string[]): void {
	if (!ssid) problems.push("ssid=… is missing: the name of the Wi-Fi network.");
	else if (Buffer.byteLength(ssid) > 32)
		problems.push("ssid is longer than 32 bytes, which no Wi-Fi network's name is.");
	if (password === undefined)
		problems.push("password=… is missing; for an open network write password= and nothing.");
	else if (password !== "" && (password.length < 8 || password.length > 63))
		problems.push("password must have 8 to 63 characters, as every WPA password has.");
}

function checkGateway({ gateway, ca }: Given, problems: string[]): { ca?: string } {
	if (!gateway) {
		problems.push(
			"gateway=… is missing: the address that npm start prints, e.g. ws://192.168.1.20:8080/device.",
		);
		return {};
	}
	let isSecure = false;
	try {
		const url = parseGatewayUrl(gateway);
		isSecure = url.isSecure;
		if (/^(localhost|127(\.\d+){3}|0\.0\.0\.0)$/.test(url.host))
			problems.push(
				`A board cannot reach ${url.host}: say the gateway's address in your network, and start it with HOST=0.0.0.0.`,
			);
	} catch (error) {
		problems.push(error instanceof Error ? `${error.message}.` : String(error));
		return {};
	}
	if (!isSecure) return {};
	if (!ca) {
		problems.push(
			"wss needs ca=…: the PEM file of the certificate authority that signed the gateway's certificate.",
		);
		return {};
	}
	try {
		return { ca: readAuthority(ca) };
	} catch (error) {
		problems.push(error instanceof Error ? error.message : String(error));
		return {};
	}
}

/**
 * @param file a certificate in PEM or DER
 * @returns its DER in base64, as the firmware takes it
 * @throws Error
 */
export function readAuthority(file: string): string {
	try {
		return new X509Certificate(readFileSync(file)).raw.toString("base64");
	} catch {
		throw new Error(`${file} cannot be read as a certificate: ca=… takes a PEM file.`);
	}
}

function tokenOf(findToken: () => string, problems: string[]): string {
	try {
		return findToken();
	} catch (error) {
		problems.push(`token=… is missing: ${error instanceof Error ? error.message : error}.`);
		return "";
	}
}
