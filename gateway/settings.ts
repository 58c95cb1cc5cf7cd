/**
 * Settings of the core; those of extensions are in their folders. An invalid value prevents the start, since a fallback
 * would be an unexpected secret, folder or address.
 */

import { resolve } from "node:path";
import proxyAddress from "proxy-addr";
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
} from "./setting.js";
import { logLevels } from "./telemetry/log.js";

/** Host name or address to listen on. */
const host: Setting<string> = {
	variables: {
		HOST: {
			byDefault: "`127.0.0.1`",
			description: "address to listen on; `0.0.0.0` for all networks",
		},
	},
	read: (environment) => readVariable(environment, "HOST") ?? "127.0.0.1",
};

/** 0 to 65535; 0 selects any free port. */
const port = parsedSetting("PORT", {
	description: "port to listen on; `0` for any free one",
	defaultText: "8080",
	parse: (text) => (/^\d+$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined),
	form: "a whole number from 0 to 65535",
});

/** Paths of PEM files. */
export interface TlsFiles {
	/** Certificate chain: the server's certificate first, then those of its authorities. */
	readonly cert: string;
	readonly key: string;
}

/** Undefined: HTTP without TLS. http/certificate.ts reads the files at the start and after each renewal. */
const tls: Setting<TlsFiles | undefined> = {
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
	read: (environment) => {
		const [cert, key] = [readVariable(environment, "TLS_CERT"), readVariable(environment, "TLS_KEY")];
		if (cert === undefined && key === undefined) return undefined;
		if (cert !== undefined && key !== undefined) return { cert: resolve(cert), key: resolve(key) };
		const missing = cert === undefined ? "TLS_CERT" : "TLS_KEY";
		const present = cert === undefined ? "TLS_KEY" : "TLS_CERT";
		throw new StartError(`${present} requires ${missing}.`);
	},
};

const dataDir = folder(
	"DATA_DIR",
	"data",
	"folder of the persistent data, or a cache with `NATS_URL`; one gateway per folder",
);

/** Folder of the catalog and images written by the release script. */
const releasesDir = folder(
	"RELEASES_DIR",
	"releases",
	"folder that `npm run release` writes; a cluster needs the same releases at each gateway, shared or copied",
);

const deviceToken = tokens("DEVICE_TOKEN", "of devices");
const monitorToken = tokens("MONITOR_TOKEN", "of people and programs");

/** Public URL of a gateway behind a proxy. */
const publicUrl: Setting<URL | undefined> = {
	variables: {
		PUBLIC_URL: {
			description:
				"URL for people and devices, if the gateway is behind a proxy. Its host must be an IPv4 address or a name of letters, digits, dots and hyphens. Required if `HOST` is an IPv6 address",
		},
	},
	read: (environment) => {
		const text = readVariable(environment, "PUBLIC_URL");
		if (text === undefined) return undefined;
		const url = parseUrl(text);
		if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !/[?#]/.test(url.href))
			return url;
		throw new StartError("Invalid PUBLIC_URL. Set it to a URL such as https://gateway.example, or unset it.");
	},
};

/** Proxies whose X-Forwarded-For, -Proto and -Host headers are trusted; undefined: none. */
const trustProxy: Setting<TrustProxy | undefined> = {
	variables: {
		TRUST_PROXY: {
			description:
				"number of proxies whose headers are [trusted](operations.md#proxies), or their addresses (`127.0.0.1,10.0.0.0/8`)",
		},
	},
	read: (environment) => {
		const text = readVariable(environment, "TRUST_PROXY");
		if (text === undefined) return undefined;
		if (/^[1-9]\d?$/.test(text)) return (_address, hop) => hop < Number(text);
		try {
			// proxy-addr would parse "0" as the address 0.0.0.0.
			if (/^\d+$/.test(text)) throw new TypeError("a number");
			return proxyAddress.compile(text.split(",").map((address) => address.trim()));
		} catch {
			// Reported below.
		}
		throw new StartError(
			`Invalid TRUST_PROXY "${text}". Set it to the number of proxies in front of the gateway, or to their addresses, such as 127.0.0.1,10.0.0.0/8.`,
		);
	},
};

/** Public keys that verify firmware; empty: signatures are not checked. */
export const releaseKeys: Setting<ReleaseKeys> = {
	variables: {
		RELEASE_KEYS: {
			description:
				"PEM file with one or two public keys; firmware must be signed by one of them; see [Signed firmware](firmware/README.md#signed-firmware)",
		},
	},
	read: (environment) => {
		const pem = readFileOf(environment, "RELEASE_KEYS", "a PEM file");
		if (!pem) return [];
		try {
			return parseReleaseKeys(pem.toString());
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			const path = readVariable(environment, "RELEASE_KEYS");
			throw new StartError(`Invalid RELEASE_KEYS "${path}": ${why}.`);
		}
	},
};

const maxUploadBytes = parsedSetting("MAX_UPLOAD", {
	description: "maximum size of an image",
	defaultText: "16M",
	parse: parseSize,
	form: "a size such as 16M, or in bytes",
});

const logLevel = parsedSetting("LOG_LEVEL", {
	description: logLevels.map((level) => `\`${level}\``).join(", "),
	defaultText: "info",
	parse: (text) => logLevels.find((level) => level === text),
	form: `one of ${logLevels.join(", ")}`,
});

const auth = onOffSetting("AUTH", "`off`: no tokens required; on loopback only");

const imageCheck = onOffSetting("IMAGE_CHECK", "`off`: accepts any upload, for third-party firmware");

/** IANA name of the time zone of local times. */
const timeZone: Setting<string> = {
	variables: {
		TZ: {
			byDefault: "the computer's",
			description:
				"IANA name of the time zone of schedules, quiet hours and new rollout windows, such as `Europe/Berlin`; POSIX zones such as `CET-1CEST` are rejected",
		},
	},
	read: (environment) => {
		const text = readVariable(environment, "TZ");
		if (text === undefined) {
			// ICU treats a blank TZ as an unknown zone.
			if (process.env.TZ?.trim() === "") delete process.env.TZ;
			return ownZone() ?? "UTC";
		}
		const zone = zoneNamed(text);
		if (zone !== undefined) return zone;
		throw new StartError(
			`Unknown time zone TZ "${text}". Set it to one such as Europe/Berlin, or unset it to use this computer's.`,
		);
	},
};

/** Name of this gateway in a cluster, for logs and the page; undefined: its host and port. */
const gatewayName: Setting<string | undefined> = {
	variables: {
		GATEWAY_NAME: {
			byDefault: "its host and port",
			description: "name of this gateway in logs, the dashboard and MQTT topics; at most 64 characters",
		},
	},
	read: (environment) => {
		const name = cleanText(readVariable(environment, "GATEWAY_NAME") ?? "");
		if (matches(freeText(64), name) && !/[\p{C}\p{Zl}\p{Zp}]/u.test(name)) return name || undefined;
		throw new StartError("Invalid GATEWAY_NAME. Set it to at most 64 printable characters, such as hall-1.");
	},
};

/** All settings of the core, in the order of the documentation. */
export const coreSettings = {
	host,
	port,
	tls,
	dataDir,
	releasesDir,
	deviceToken,
	monitorToken,
	publicUrl,
	trustProxy,
	releaseKeys,
	maxUploadBytes,
	logLevel,
	auth,
	imageCheck,
	timeZone,
	gatewayName,
} as const;

export type Settings = {
	readonly [name in keyof typeof coreSettings]: ReturnType<(typeof coreSettings)[name]["read"]>;
};

/** @throws {StartError} at the first invalid value */
export function readSettings(environment: Environment): Settings {
	return {
		host: host.read(environment),
		port: port.read(environment),
		tls: tls.read(environment),
		dataDir: dataDir.read(environment),
		releasesDir: releasesDir.read(environment),
		deviceToken: deviceToken.read(environment),
		monitorToken: monitorToken.read(environment),
		publicUrl: publicUrl.read(environment),
		trustProxy: trustProxy.read(environment),
		releaseKeys: releaseKeys.read(environment),
		maxUploadBytes: maxUploadBytes.read(environment),
		logLevel: logLevel.read(environment),
		auth: auth.read(environment),
		imageCheck: imageCheck.read(environment),
		timeZone: timeZone.read(environment),
		gatewayName: gatewayName.read(environment),
	};
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
	return {
		variables: {
			[name]: {
				byDefault: "generated",
				description: `token ${whose}: 16 to 512 characters, no space or comma; \`new,old\` during a replacement`,
			},
		},
		read: (environment) => {
			const list = readVariable(environment, name)
				?.split(",")
				.map((token) => token.trim());
			if (!list) return undefined;
			if (list.length <= 2 && list.every((item) => matches(token, item))) return list.join();
			throw new StartError(
				`Invalid ${name}. Set it to 16 to 512 letters, digits or signs without spaces, or to two such tokens separated by a comma.`,
			);
		},
	};
}

function parseSize(text: string): number | undefined {
	const [, digits, unit = ""] = /^(\d{1,12}) ?([KM]?)(?:i?B)?$/i.exec(text) ?? [];
	const size = Number(digits) * 1024 ** ["", "K", "M"].indexOf(unit.toUpperCase());
	return Number.isSafeInteger(size) && size > 0 ? size : undefined;
}
