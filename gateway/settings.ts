/**
 * The gateway's settings from the environment. An invalid value stops the start: with a guess the gateway would run
 * with an unexpected secret, folder or address.
 */

import { accessSync, constants, readFileSync, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import proxyAddress from "proxy-addr";
import { matches } from "../device/protocol/schema.js";
import { isLoopback, parseUrl, type TrustProxy } from "./access/origin.js";
import { token } from "./access/tokens.js";
import { cleanText, freeText, percentDecoded } from "./api/text.js";
import { ownZone, zoneNamed } from "./api/time-zone.js";
import { parseReleaseKeys, type ReleaseKeys } from "./firmware/release-keys.js";
import type { TlsFiles } from "./http/certificate.js";
import { errorCode, StartError } from "./problem.js";
import { requireRegularFile } from "./storage/atomic-file.js";
import { type LogLevel, logLevels } from "./telemetry/log.js";

type Environment = Readonly<Record<string, string | undefined>>;

export type Settings = Readonly<ReturnType<typeof readSettings>>;

export const defaultSettings: Settings = Object.freeze(readSettings({}));

/**
 * A blank variable counts as unset. Space, line breaks and byte order marks around a value are dropped: they come from files.
 *
 * @throws {StartError} at the first invalid value
 */
export function readSettings(environment: Environment) {
	const trimmed = (name: string) => environment[name]?.trim() || undefined;
	const given = (name: string) => {
		const text = trimmed(name);
		// Docker's --env-file, for instance, keeps them: a folder would have them in its name.
		if (/^(["']).*\1$/s.test(text ?? ""))
			throw new StartError(`${name} is in quotes; set it to the same without them.`);
		return text;
	};
	const read = <T>(name: string, byDefault: string, parse: (text: string) => T | undefined, form: string) => {
		const text = given(name) ?? byDefault;
		const value = parse(text);
		if (value !== undefined) return value;
		throw new StartError(`${name} is "${text}"; set it to ${form}.`);
	};
	const command = (name: string, example: string) =>
		readCommand(name, trimmed(name), environment.PATH, example);
	return {
		/** Name or address to listen on. */
		host: given("HOST") ?? "127.0.0.1",
		/** 0 to 65535; 0 takes any free one. */
		port: read("PORT", "8080", parsePort, "a whole number from 0 to 65535"),
		/** Undefined: plain http and ws. */
		tls: readTls(given("TLS_CERT"), given("TLS_KEY")),
		dataDir: resolve(given("DATA_DIR") ?? "data"),
		/** Catalog and images, from the release script. */
		releasesDir: resolve(given("RELEASES_DIR") ?? "releases"),
		/** Or the current and the previous one, separated by a comma. Undefined: made once and kept in dataDir. */
		deviceToken: readToken("DEVICE_TOKEN", given("DEVICE_TOKEN")),
		monitorToken: readToken("MONITOR_TOKEN", given("MONITOR_TOKEN")),
		/** Where people reach the gateway behind a proxy, and devices that use its host name. */
		publicUrl: readPublicUrl(given("PUBLIC_URL")),
		/** Proxies whose X-Forwarded-For, -Proto and -Host are trusted; undefined: none. */
		trustProxy: readTrustProxy(given("TRUST_PROXY")),
		maxUploadBytes: read("MAX_UPLOAD", "16M", parseSize, "a size in bytes, or such as 16M"),
		logLevel: read("LOG_LEVEL", "info", parseLogLevel, `one of ${logLevels.join(", ")}`),
		/** false: AUTH=off, on loopback alone. */
		auth: read("AUTH", "on", parseSwitch, "on or off"),
		/** By one of which firmware is signed; none: signatures are not checked. */
		releaseKeys: readReleaseKeys(given("RELEASE_KEYS")),
		/** false: any upload is stored. */
		imageCheck: read("IMAGE_CHECK", "on", parseSwitch, "on or off"),
		/** false: devices do not find this gateway by multicast DNS. */
		mdns: read("MDNS", "on", parseSwitch, "on or off"),
		/** A program that speaks, and its arguments: text in, WAV out; undefined: none. */
		speechCommand: command("SPEECH_COMMAND", "espeak-ng --stdout"),
		/** A program that decodes sounds, and its arguments: a file in, WAV out; undefined: none. */
		decodeCommand: command("DECODE_COMMAND", "ffmpeg -i {file} -f wav -"),
		/** The receivers of events (webhooks/hooks.ts); undefined: none. */
		webhooksFile: given("WEBHOOKS_FILE"),
		/** By which several gateways act as one; undefined: this one is alone. */
		nats: readNats(
			given("NATS_URL"),
			given("NATS_CREDS"),
			given("NATS_CA"),
			read("NATS_ALLOW_OLD", "0", parseBit, "1 or 0"),
		),
		/** The broker of Home Assistant; undefined: none. */
		mqtt: readMqtt({
			url: given("MQTT_URL"),
			username: given("MQTT_USERNAME"),
			// It may begin and end with anything but a line break.
			password: trimmed("MQTT_PASSWORD") && environment.MQTT_PASSWORD?.replace(/^\ufeff|[\r\n]+$/g, ""),
			authorityPath: given("MQTT_CA_FILE"),
			prefix: given("MQTT_DISCOVERY_PREFIX"),
		}),
		/** IANA name of the zone of schedules, quiet hours, and windows of rollouts that name none. */
		timeZone: readTimeZone(given("TZ")),
		/** How logs and the page name this one of several gateways; undefined: by its host and port. */
		gatewayName: readGatewayName(given("GATEWAY_NAME")),
	};
}

/** Without tokens the gateway is for this machine alone. @throws {StartError} */
export function requireSafe({ auth, host, trustProxy }: Settings): void {
	if (!auth && !isLoopback(host))
		throw new StartError(
			`AUTH=off is for loopback alone, but HOST is ${host}; leave AUTH out, or set HOST to 127.0.0.1.`,
		);
	if (!auth && trustProxy)
		throw new StartError(
			"AUTH=off is for this machine alone, but TRUST_PROXY lets others in; leave out one of them.",
		);
}

function parsePort(text: string): number | undefined {
	return /^\d+$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined;
}

function parseSize(text: string): number | undefined {
	const [, digits, unit = ""] = /^(\d{1,12}) ?([KM]?)(?:i?B)?$/i.exec(text) ?? [];
	const size = Number(digits) * 1024 ** ["", "K", "M"].indexOf(unit.toUpperCase());
	return Number.isSafeInteger(size) && size > 0 ? size : undefined;
}

function parseLogLevel(text: string): LogLevel | undefined {
	return logLevels.find((level) => level === text);
}

function parseSwitch(text: string): boolean | undefined {
	if (text === "on") return true;
	return text === "off" ? false : undefined;
}

function parseBit(text: string): boolean | undefined {
	if (text === "1") return true;
	return text === "0" ? false : undefined;
}

/** Words are separated by spaces; one with spaces is in double quotes. No shell reads it. */
function readCommand(
	name: string,
	text: string | undefined,
	path: string | undefined,
	example: string,
): readonly string[] | undefined {
	if (text === undefined) return undefined;
	const words = [...text.matchAll(/"([^"]*)"|[^\s"]+/g)].map(([word, quoted]) => quoted ?? word);
	const rest = text.replaceAll(/"[^"]*"|[^\s"]+/g, "").trim();
	const [program] = words;
	if (!program || rest !== "")
		throw new StartError(`${name} is not a program with its arguments, such as ${example}; correct it.`);
	if (!isProgram(program, path))
		throw new StartError(
			`${name} begins with "${program}", which is not a program on this computer; install it, or correct the setting.`,
		);
	return words;
}

/** @param path folders where a name is searched, as in PATH */
function isProgram(name: string, path = "/usr/bin:/bin"): boolean {
	const folders = /[/\\]/.test(name) ? ["."] : path.split(delimiter);
	const endings = process.platform === "win32" ? ["", ".exe", ".com"] : [""];
	return folders.some((folder) => endings.some((ending) => isExecutable(resolve(folder, name + ending))));
}

function isExecutable(path: string): boolean {
	try {
		accessSync(path, constants.X_OK);
		return statSync(path).isFile();
	} catch {
		return false;
	}
}

/** An address may hold a password: not shown. */
function readNats(
	addresses: string | undefined,
	credentialsPath: string | undefined,
	authorityPath: string | undefined,
	allowOld: boolean,
) {
	if (addresses === undefined) {
		const stray = credentialsPath === undefined ? "NATS_CA" : "NATS_CREDS";
		if (credentialsPath === undefined && authorityPath === undefined) return undefined;
		throw new StartError(`${stray} is of no use without NATS_URL; set that too, or leave it out.`);
	}
	const servers = addresses.split(",").flatMap((address) => parseUrl(address.trim()) ?? []);
	const areServers = servers.every(({ protocol, host }) => /^(nats|tls):$/.test(protocol) && host !== "");
	if (!areServers || servers.length < addresses.split(",").length)
		throw new StartError(
			"NATS_URL is not a list of addresses such as nats://10.0.0.1:4222,nats://10.0.0.2:4222; correct it.",
		);
	for (const { username, password } of servers)
		for (const part of [username, password]) decodePart("NATS_URL", part);
	return {
		servers,
		/** Content of a .creds file. */
		credentials:
			credentialsPath === undefined ? undefined : readContent("NATS_CREDS", credentialsPath, "a .creds file"),
		/** PEM; undefined: the system's authorities. */
		authority: authorityPath === undefined ? undefined : readContent("NATS_CA", authorityPath, "a PEM file"),
		/** Accepts servers below 2.11. */
		allowOld,
	};
}

interface MqttVariables {
	readonly url: string | undefined;
	readonly username: string | undefined;
	readonly password: string | undefined;
	readonly authorityPath: string | undefined;
	readonly prefix: string | undefined;
}

/** The address may hold a password: not shown. */
function readMqtt({ url: address, username, password, authorityPath, prefix }: MqttVariables) {
	if (address === undefined) {
		const given = { MQTT_USERNAME: username, MQTT_PASSWORD: password, MQTT_CA_FILE: authorityPath };
		for (const [name, value] of Object.entries({ ...given, MQTT_DISCOVERY_PREFIX: prefix }))
			if (value !== undefined)
				throw new StartError(`${name} is of no use without MQTT_URL; set that too, or leave it out.`);
		return undefined;
	}
	const url = parseUrl(address);
	if (!url || !/^mqtts?:$/.test(url.protocol) || url.host === "" || !/^\/?$/.test(url.pathname + url.search))
		throw new StartError("MQTT_URL is not an address such as mqtts://broker.example:8883; correct it.");
	if (authorityPath !== undefined && url.protocol === "mqtt:")
		throw new StartError(
			"MQTT_CA_FILE is of no use with mqtt://; set MQTT_URL to mqtts://, or leave it out.",
		);
	if (prefix !== undefined && !/^[^+#/\p{C}]+(\/[^+#/\p{C}]+)*$/u.test(prefix))
		throw new StartError("MQTT_DISCOVERY_PREFIX is not a topic such as homeassistant; correct it.");
	return {
		/** Without a user name and a password. */
		url: `${url.protocol}//${url.host}`,
		username: username ?? decodePart("MQTT_URL", url.username),
		password: password ?? decodePart("MQTT_URL", url.password),
		/** PEM; undefined: the system's authorities. */
		authority:
			authorityPath === undefined ? undefined : readContent("MQTT_CA_FILE", authorityPath, "a PEM file"),
		/** Of topics that Home Assistant reads. */
		prefix: prefix ?? "homeassistant",
	};
}

/** @param name of the variable with the address, which is not shown @param text of its user name or password */
function decodePart(name: string, text: string): string | undefined {
	const decoded = percentDecoded(text);
	if (decoded !== undefined) return decoded || undefined;
	throw new StartError(`${name} has a % in its user name or password that is not written %25; correct it.`);
}

/** The files are read at the start and after each renewal: http/certificate.ts. */
function readTls(cert: string | undefined, key: string | undefined): TlsFiles | undefined {
	if (cert === undefined && key === undefined) return undefined;
	if (cert !== undefined && key !== undefined) return { cert: resolve(cert), key: resolve(key) };
	const missing = cert === undefined ? "TLS_CERT" : "TLS_KEY";
	throw new StartError(`TLS_CERT and TLS_KEY belong together; set ${missing} too.`);
}

/** @param what it should be */
function readContent(name: string, path: string, what: string): Buffer {
	try {
		requireRegularFile(statSync(path), path);
		return readFileSync(path);
	} catch (error) {
		throw new StartError(
			`${name} is "${path}", which cannot be read (${errorCode(error)}); set it to ${what}.`,
		);
	}
}

function readReleaseKeys(path: string | undefined): ReleaseKeys {
	if (path === undefined) return [];
	const pem = readContent("RELEASE_KEYS", path, "a PEM file");
	try {
		return parseReleaseKeys(pem.toString());
	} catch (error) {
		const why = error instanceof Error ? error.message : String(error);
		throw new StartError(`RELEASE_KEYS is "${path}", which cannot be used: ${why}.`);
	}
}

/** It may be a mistyped secret: not shown. */
function readToken(name: string, text: string | undefined): string | undefined {
	const tokens = text?.split(",").map((each) => each.trim()) ?? [];
	if (tokens.length <= 2 && tokens.every((each) => matches(token, each))) return tokens.join() || undefined;
	throw new StartError(
		`${name} must be set to 16 to 512 letters, digits or signs without a space, or to two such with a comma between.`,
	);
}

function readGatewayName(text: string | undefined): string | undefined {
	const name = cleanText(text ?? "");
	if (matches(freeText(64), name) && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) return name || undefined;
	throw new StartError(
		"GATEWAY_NAME is longer than 64 characters or has some that cannot be shown; set it to such as hall-1.",
	);
}

function readTimeZone(text: string | undefined): string {
	if (text === undefined) {
		// ICU takes a blank TZ for an unknown zone.
		if (process.env.TZ?.trim() === "") delete process.env.TZ;
		return ownZone() ?? "UTC";
	}
	const zone = zoneNamed(text);
	if (zone !== undefined) return zone;
	throw new StartError(
		`TZ is "${text}"; set it to a time zone such as Europe/Berlin, or leave it out for this computer's.`,
	);
}

/** A number of proxies, or their addresses. */
function readTrustProxy(text: string | undefined): TrustProxy | undefined {
	if (text === undefined) return undefined;
	if (/^[1-9]\d?$/.test(text)) return (_address, hop) => hop < Number(text);
	try {
		// "0" would be the address 0.0.0.0.
		if (/^\d+$/.test(text)) throw new TypeError("a number");
		return proxyAddress.compile(text.split(",").map((address) => address.trim()));
	} catch {
		// Reported below.
	}
	throw new StartError(
		`TRUST_PROXY is "${text}"; set it to the number of proxies before the gateway, or to their addresses, such as 127.0.0.1,10.0.0.0/8.`,
	);
}

function readPublicUrl(text: string | undefined): URL | undefined {
	if (text === undefined) return undefined;
	const url = parseUrl(text);
	if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !/[?#]/.test(url.href))
		return url;
	throw new StartError(
		"PUBLIC_URL is not an address such as https://gateway.example; correct it or leave it out.",
	);
}
