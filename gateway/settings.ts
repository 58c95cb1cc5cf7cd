/**
 * The gateway's settings, read from the environment once. A wrong value stops the start with a sentence that names it:
 * a gateway that guessed instead would run with a secret, a folder or an address that nobody asked for.
 */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { matches } from "../device/protocol/schema.js";
import { parseUrl } from "./access/origin.js";
import { token } from "./access/token-file.js";
import { errorCode, StartError } from "./start-error.js";
import { type LogLevel, logLevels } from "./telemetry/log.js";

export interface Settings {
	/** Name or address to listen on. */
	readonly host: string;
	/** 0 to 65535; 0 takes any free one. */
	readonly port: number;
	/** PEM texts; undefined: plain http and ws. */
	readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
	/** What the gateway must not lose. */
	readonly dataDir: string;
	/** The catalogue and the images that the release script writes. */
	readonly releasesDir: string;
	/** Or two with a comma between: the one in use, and the former one. Undefined: made once and kept in dataDir. */
	readonly deviceToken: string | undefined;
	readonly monitorToken: string | undefined;
	/** The address by which devices and people reach the gateway, where a proxy stands before it. */
	readonly publicUrl: URL | undefined;
	readonly maxUploadBytes: number;
	readonly logLevel: LogLevel;
	/** false: AUTH=off, on loopback alone. */
	readonly auth: boolean;
	/** false: IMAGE_CHECK=off, any upload is stored. */
	readonly imageCheck: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What holds where the environment says nothing. */
export const defaultSettings: Settings = Object.freeze({
	host: "127.0.0.1",
	port: 8080,
	tls: undefined,
	dataDir: resolve("data"),
	releasesDir: resolve("releases"),
	deviceToken: undefined,
	monitorToken: undefined,
	publicUrl: undefined,
	maxUploadBytes: 16 * 1024 * 1024,
	logLevel: "info",
	auth: true,
	imageCheck: true,
});

/**
 * Reads the settings. An empty variable counts as none.
 *
 * @throws StartError at the first wrong value
 */
export function readSettings(environment: Environment): Settings {
	const given = (name: string) => environment[name] || undefined;
	return {
		host: given("HOST") ?? defaultSettings.host,
		port: readPort(given("PORT")),
		tls: readTls(given("TLS_CERT"), given("TLS_KEY")),
		dataDir: resolve(given("DATA_DIR") ?? defaultSettings.dataDir),
		releasesDir: resolve(given("RELEASES_DIR") ?? defaultSettings.releasesDir),
		deviceToken: readToken("DEVICE_TOKEN", given("DEVICE_TOKEN")),
		monitorToken: readToken("MONITOR_TOKEN", given("MONITOR_TOKEN")),
		publicUrl: readPublicUrl(given("PUBLIC_URL")),
		maxUploadBytes: readSize("MAX_UPLOAD", given("MAX_UPLOAD")),
		logLevel: readLogLevel(given("LOG_LEVEL")),
		auth: readSwitch("AUTH", given("AUTH")),
		imageCheck: readSwitch("IMAGE_CHECK", given("IMAGE_CHECK")),
	};
}

function readPort(text: string | undefined): number {
	if (text === undefined) return defaultSettings.port;
	const port = Number(text);
	if (/^\d+$/.test(text) && port <= 65_535) return port;
	throw new StartError(`PORT is "${text}"; set it to a whole number from 0 to 65535.`);
}

function readSwitch(name: string, text: string | undefined): boolean {
	if (text === undefined || text === "on") return true;
	if (text === "off") return false;
	throw new StartError(`${name} is "${text}"; set it to on or off.`);
}

function readTls(certPath: string | undefined, keyPath: string | undefined): Settings["tls"] {
	if (certPath === undefined && keyPath === undefined) return undefined;
	if (certPath === undefined || keyPath === undefined)
		throw new StartError(
			`TLS_CERT and TLS_KEY belong together; set ${certPath === undefined ? "TLS_CERT" : "TLS_KEY"} too.`,
		);
	return { cert: readPem("TLS_CERT", certPath), key: readPem("TLS_KEY", keyPath) };
}

function readPem(name: string, path: string): Buffer {
	try {
		return readFileSync(path);
	} catch (error) {
		throw new StartError(
			`${name} is "${path}", which cannot be read (${errorCode(error)}); set it to a PEM file.`,
		);
	}
}

/** The value itself is not told: it may be the secret, mistyped. */
function readToken(name: string, text: string | undefined): string | undefined {
	const tokens = text?.split(",") ?? [];
	if (tokens.length <= 2 && tokens.every((each) => matches(token, each))) return text;
	throw new StartError(
		`${name} must be set to 16 to 512 letters, digits or signs without a space, or to two such with a comma between.`,
	);
}

function readPublicUrl(text: string | undefined): URL | undefined {
	if (text === undefined) return undefined;
	const url = parseUrl(text);
	if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash)
		return url;
	throw new StartError(
		"PUBLIC_URL is not an address such as https://gateway.example; correct it or leave it out.",
	);
}

function readSize(name: string, text: string | undefined): number {
	if (text === undefined) return defaultSettings.maxUploadBytes;
	const [, digits, unit = ""] = /^(\d{1,12}) ?([KM]?)(?:i?B)?$/i.exec(text) ?? [];
	const size = Number(digits) * 1024 ** ["", "K", "M"].indexOf(unit.toUpperCase());
	if (size > 0) return size;
	throw new StartError(`${name} is "${text}"; set it to a size in bytes, or such as 16M.`);
}

function readLogLevel(text: string | undefined): LogLevel {
	if (text === undefined) return defaultSettings.logLevel;
	const level = logLevels.find((name) => name === text);
	if (level) return level;
	throw new StartError(`LOG_LEVEL is "${text}"; set it to one of ${logLevels.join(", ")}.`);
}
