/**
 * Settings of the core; those of extensions are in their folders. An invalid value prevents the start, since a fallback
 * would be an unexpected secret, folder or address.
 */

import { resolve } from "node:path";
import proxyAddress from "proxy-addr";
import { messageOf } from "../device/message-of.js";
import { matches } from "../device/protocol/schema.js";
import { isLoopback, parseUrl, type TrustProxy } from "./access/origin.js";
import { token } from "./access/tokens.js";
import { cleanText, freeText } from "./api/text.js";
import { ownZone, zoneNamed } from "./api/time-zone.js";
import { parseReleaseKeys, type ReleaseKeys } from "./firmware/release-keys.js";
import { StartError } from "./problem.js";
import {
	type Environment,
	onOffSetting,
	parsedSetting,
	readFileOf,
	readVariable,
	type Setting,
	setting,
} from "./setting.js";
import { logLevels } from "./telemetry/log.js";

/** Paths of PEM files. */
export interface TlsFiles {
	/** Certificate chain: the server's certificate first, then those of its authorities. */
	readonly cert: string;
	readonly key: string;
}

/** All settings of the core, in the order of the documentation. */
export const coreSettings = {
	/** Host name or address to listen on. */
	host: setting(
		"HOST",
		{ byDefault: "`127.0.0.1`", description: "address to listen on; `0.0.0.0` for all networks" },
		(text) => text ?? "127.0.0.1",
	),
	/** 0 to 65535; 0 selects any free port. */
	port: parsedSetting("PORT", {
		description: "port to listen on; `0` for any free one",
		defaultText: "8080",
		parse: (text) => (/^\d+$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
		form: "a whole number from 0 to 65535",
	}),
	/** Undefined: HTTP without TLS. http/certificate.ts reads the files at the start and after each renewal. */
	tls: {
		variables: {
			TLS_CERT: {
				description:
					"PEM file that enables https and wss: the certificate, followed by its chain in order; reloaded after a [renewal](operations.md#tls)",
			},
			TLS_KEY: {
				description:
					"PEM file with its key. Boards require TLS 1.2, ECDHE, AES128-GCM-SHA256 and an unencrypted RSA or P-256 key; the gateway rejects others",
			},
		},
		read: (environment: Environment): TlsFiles | undefined => {
			const [cert, key] = [readVariable(environment, "TLS_CERT"), readVariable(environment, "TLS_KEY")];
			if (cert !== undefined && key !== undefined) return { cert: resolve(cert), key: resolve(key) };
			if (cert === key) return undefined;
			throw new StartError(cert === undefined ? "TLS_KEY requires TLS_CERT." : "TLS_CERT requires TLS_KEY.");
		},
	},
	dataDir: folder(
		"DATA_DIR",
		"data",
		"folder of the persistent data, or a cache with `NATS_URL`; one gateway per folder",
	),
	/** Folder of the catalog and images written by the release script. */
	releasesDir: folder(
		"RELEASES_DIR",
		"releases",
		"folder that `npm run release` writes; a cluster needs the same releases at each gateway, shared or copied",
	),
	deviceToken: tokens("DEVICE_TOKEN", "of devices"),
	monitorToken: tokens("MONITOR_TOKEN", "of people and programs"),
	/** Public URL of a gateway behind a proxy. */
	publicUrl: setting(
		"PUBLIC_URL",
		"URL for people and devices, if the gateway is behind a proxy. Its host must be an IPv4 address or a name of letters, digits, dots and hyphens. Required if `HOST` is an IPv6 address",
		(text) => {
			if (text === undefined) return undefined;
			const url = parseUrl(text);
			if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !/[?#]/.test(url.href))
				return url;
			throw new StartError(
				"Invalid PUBLIC_URL. Set it to a URL such as https://gateway.example, or unset it.",
			);
		},
	),
	/** Proxies whose X-Forwarded-For, -Proto and -Host headers are trusted; undefined: none. */
	trustProxy: setting(
		"TRUST_PROXY",
		"number of proxies whose headers are [trusted](operations.md#proxies), or their addresses (`127.0.0.1,10.0.0.0/8`)",
		(text): TrustProxy | undefined => {
			if (text === undefined) return undefined;
			if (/^[1-9]\d?$/.test(text)) return (_address, hop) => hop < Number(text);
			try {
				// proxy-addr would parse "0" as the address 0.0.0.0.
				if (/^\d+$/.test(text)) throw new TypeError("a number");
				return proxyAddress.compile(text.split(",").map((address) => address.trim()));
			} catch {
				throw new StartError(
					`Invalid TRUST_PROXY "${text}". Set it to the number of proxies in front of the gateway, or to their addresses, such as 127.0.0.1,10.0.0.0/8.`,
				);
			}
		},
	),
	/** Public keys that verify firmware; empty: signatures are not checked. */
	releaseKeys: {
		variables: {
			RELEASE_KEYS: {
				description:
					"PEM file with one or two public keys; firmware must be signed by one of them; see [Signed firmware](firmware/README.md#signed-firmware)",
			},
		},
		read: (environment: Environment): ReleaseKeys => {
			const pem = readFileOf(environment, "RELEASE_KEYS", "a PEM file");
			try {
				return pem ? parseReleaseKeys(pem.toString()) : [];
			} catch (error) {
				const path = readVariable(environment, "RELEASE_KEYS");
				throw new StartError(`Invalid RELEASE_KEYS "${path}": ${messageOf(error)}.`);
			}
		},
	},
	maxUploadBytes: parsedSetting("MAX_UPLOAD", {
		description: "maximum size of an image",
		defaultText: "16M",
		parse: parseSize,
		form: "a size such as 16M, or in bytes",
	}),
	logLevel: parsedSetting("LOG_LEVEL", {
		description: logLevels.map((level) => `\`${level}\``).join(", "),
		defaultText: "info",
		parse: (text) => logLevels.find((level) => level === text),
		form: `one of ${logLevels.join(", ")}`,
	}),
	auth: onOffSetting("AUTH", "`off`: no tokens required; on loopback only"),
	imageCheck: onOffSetting("IMAGE_CHECK", "`off`: accepts any upload, for third-party firmware"),
	/** IANA name of the time zone of local times. */
	timeZone: setting(
		"TZ",
		{
			byDefault: "the computer's",
			description:
				"IANA name of the time zone of schedules, quiet hours and new rollout windows, such as `Europe/Berlin`; POSIX zones such as `CET-1CEST` are rejected",
		},
		(text) => {
			// ICU treats a blank TZ as an unknown zone.
			if (text === undefined && process.env.TZ?.trim() === "") delete process.env.TZ;
			const zone = text === undefined ? (ownZone() ?? "UTC") : zoneNamed(text);
			if (zone !== undefined) return zone;
			throw new StartError(
				`Unknown time zone TZ "${text}". Set it to one such as Europe/Berlin, or unset it to use this computer's.`,
			);
		},
	),
	/** Name of this gateway in a cluster, for logs and the page; undefined: its host and port. */
	gatewayName: setting(
		"GATEWAY_NAME",
		{
			byDefault: "its host and port",
			description: "name of this gateway in logs, the dashboard and MQTT topics; at most 64 characters",
		},
		(text = "") => {
			const name = cleanText(text);
			if (matches(freeText(64), name) && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) return name || undefined;
			throw new StartError(
				"Invalid GATEWAY_NAME. Set it to at most 64 printable characters, such as hall-1.",
			);
		},
	),
};

type Values<T> = { readonly [N in keyof T]: T[N] extends Setting<infer V> ? V : never };
export type Settings = Values<typeof coreSettings>;

/** @throws {StartError} at the first invalid value */
export function readSettings(environment: Environment): Settings {
	return readAll(coreSettings, environment);
}

function readAll<T extends Readonly<Record<string, Setting<unknown>>>>(
	settings: T,
	environment: Environment,
): Values<T>;
function readAll(settings: Readonly<Record<string, Setting<unknown>>>, environment: Environment): object {
	return Object.fromEntries(Object.entries(settings).map(([name, { read }]) => [name, read(environment)]));
}

export const defaultSettings: Settings = Object.freeze(readSettings({}));

/** Restricts a gateway without tokens to loopback. @throws {StartError} */
export function requireSafeAuth({ auth, host, trustProxy }: Settings): void {
	if (!auth && !isLoopback(host))
		throw new StartError(
			`AUTH=off requires a loopback HOST, but HOST is ${host}. Unset AUTH, or set HOST to 127.0.0.1.`,
		);
	if (!auth && trustProxy)
		throw new StartError(
			"AUTH=off and TRUST_PROXY are mutually exclusive: a proxy would give others access. Unset one of them.",
		);
}

function folder(name: string, byDefault: string, description: string): Setting<string> {
	return parsedSetting(name, {
		description,
		defaultText: byDefault,
		parse: (text) => resolve(text),
		form: "a folder",
	});
}

/**
 * Defines a setting of one token, or the current and the previous one, separated by a comma. Undefined: generated and
 * stored in dataDir. Error messages do not contain the value, which may be a mistyped secret.
 */
function tokens(name: string, whose: string): Setting<string | undefined> {
	return setting(
		name,
		{
			byDefault: "generated",
			description: `token ${whose}: 16 to 512 characters, no space or comma; \`new,old\` during a replacement`,
		},
		(text) => {
			const list = text?.split(",").map((token) => token.trim());
			if (!list) return undefined;
			if (list.length <= 2 && list.every((item) => matches(token, item))) return list.join();
			throw new StartError(
				`Invalid ${name}. Set it to 16 to 512 letters, digits or signs without spaces, or to two such tokens separated by a comma.`,
			);
		},
	);
}

function parseSize(text: string): number | undefined {
	const [, digits, unit = ""] = /^(\d{1,12}) ?([KM]?)(?:i?B)?$/i.exec(text) ?? [];
	const size = Number(digits) * 1024 ** ["", "K", "M"].indexOf(unit.toUpperCase());
	return Number.isSafeInteger(size) && size > 0 ? size : undefined;
}
