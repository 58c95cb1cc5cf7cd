import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { extensionSettings, settingsOf } from "../../gateway/extensions.js";
import type { Environment } from "../../gateway/setting.js";
import { readSettings } from "../../gateway/settings.js";
import { withEnvironment } from "../support/environment.js";
import { temporaryDirectory } from "../support/running.js";

/** Values for all variables. @param pem path of a file */
function allVariables(pem: string): Readonly<Record<string, string>> {
	return {
		HOST: "0.0.0.0",
		PORT: "0",
		TLS_CERT: pem,
		TLS_KEY: pem,
		DATA_DIR: "d",
		RELEASES_DIR: "r",
		DEVICE_TOKEN: "device-token-0123",
		MONITOR_TOKEN: "monitor-token-0123,previous-token-01234",
		PUBLIC_URL: "https://gateway.example/audio/",
		TRUST_PROXY: "2",
		MAX_UPLOAD: "4M",
		LOG_LEVEL: "silent",
		AUTH: "off",
		IMAGE_CHECK: "off",
		MDNS: "off",
		SPEECH_COMMAND: `${process.execPath} --stdout`,
		DECODE_COMMAND: `${process.execPath} -i -`,
		WEBHOOKS_FILE: "webhooks.json",
		NATS_URL: "nats://a:4222, tls://user:secret@b.example:4223",
		NATS_CREDS: pem,
		NATS_CA: pem,
		NATS_ALLOW_OLD: "1",
		MQTT_URL: "mqtts://home:p%40ss@broker.example:8884",
		MQTT_PASSWORD: "from the environment",
		MQTT_CA_FILE: pem,
		TZ: "Europe/Berlin",
		GATEWAY_NAME: " Ku\u0308che 1\u00a0",
	};
}

/** Reads the settings of the core and of all extensions. @throws {StartError} */
function readEvery(environment: Environment) {
	const extended = extensionSettings.map((setting) => setting.read(environment));
	return { ...readSettings(environment), extended };
}

const documented = new Set(settingsOf().map(([name]) => name));

async function readAll(t: TestContext) {
	const pem = join(await temporaryDirectory(t), "a.pem");
	await writeFile(pem, "PEM");
	return { pem, variables: allVariables(pem), settings: readEvery(allVariables(pem)) };
}

/** Comparable settings. */
const plain = ({ trustProxy, ...settings }: ReturnType<typeof readEvery>) => ({
	...settings,
	hasProxy: trustProxy !== undefined,
});

test("treats a blank variable as unset, and trims whitespace and quotes of env files", async (t) => {
	const { variables, settings } = await readAll(t);
	for (const [name, value] of Object.entries(variables).filter(([setting]) => documented.has(setting))) {
		const without = Object.fromEntries(Object.entries(variables).filter(([other]) => other !== name));
		const read = (text: string | undefined) => {
			try {
				return plain(readEvery({ ...without, [name]: text }));
			} catch (error) {
				// May require another variable, as TLS_KEY requires TLS_CERT.
				return String(error);
			}
		};
		for (const blank of ["", " ", "\t", "\r\n", "\ufeff"])
			assert.deepEqual(read(blank), read(undefined), name);
		for (const text of [`${value}\r`, `${value}\r\n`, `\ufeff${value}\n`])
			assert.deepEqual(read(text), plain(settings), name);
		if (name === "MQTT_PASSWORD") continue;
		assert.deepEqual(read(` ${value}\t`), plain(settings), name);
		if (name.endsWith("_COMMAND")) continue;
		for (const quoted of [`"${value}"`, `'${value}'\r\n`])
			assert.throws(() => readEvery({ ...variables, [name]: quoted }), {
				name: "StartError",
				message: `${name} is in quotes. Remove them.`,
			});
	}
});

test("documents each variable", () => {
	const read = new Set<string>();
	readEvery(new Proxy({}, { get: (_, name) => void read.add(String(name)) }));
	// Search path of executables.
	read.delete("PATH");
	assert.deepEqual([...read].sort(), [...documented].sort());
});

test("uses the canonical name of a time zone, and the system's for a blank TZ, which it removes", () => {
	for (const name of ["europe/berlin", "EUROPE/BERLIN", "Europe/Berlin"])
		assert.equal(readSettings({ TZ: name }).timeZone, "Europe/Berlin");
	withEnvironment({ TZ: " " }, () => {
		const { timeZone } = readSettings({ TZ: " " });
		assert.equal(process.env.TZ, undefined);
		assert.equal(timeZone, new Intl.DateTimeFormat().resolvedOptions().timeZone);
	});
});

test("reads every variable", async (t) => {
	const { pem, settings: all } = await readAll(t);
	const { trustProxy, extended: _, ...settings } = all;
	const trusted = [1, 2].map((hop) => trustProxy?.("192.0.2.1", hop));
	assert.deepEqual(trusted, [true, false]);
	assert.deepEqual(settings, {
		host: "0.0.0.0",
		port: 0,
		tls: { cert: pem, key: pem },
		dataDir: resolve("d"),
		releasesDir: resolve("r"),
		deviceToken: "device-token-0123",
		monitorToken: "monitor-token-0123,previous-token-01234",
		publicUrl: new URL("https://gateway.example/audio/"),
		maxUploadBytes: 4 * 1024 * 1024,
		logLevel: "silent",
		auth: false,
		releaseKeys: [],
		imageCheck: false,
		timeZone: "Europe/Berlin",
		gatewayName: "Küche 1",
	});
});

test("parses sizes in bytes, K and M, and accepts the largest port and tokens of 16 to 512 characters", () => {
	assert.equal(readSettings({ PORT: "65535" }).port, 65_535);
	for (const token of ["x".repeat(16), "~!#$%&*+".repeat(64)])
		assert.equal(readSettings({ DEVICE_TOKEN: token }).deviceToken, token);
	for (const [text, bytes] of Object.entries({ 1000: 1000, "1k": 1024, "16MiB": 2 ** 24, "2 MB": 2 ** 21 }))
		assert.equal(readSettings({ MAX_UPLOAD: text }).maxUploadBytes, bytes);
});

test("accepts one or two ECDSA P-256 public keys as release keys, and no private key", async (t) => {
	const file = join(await temporaryDirectory(t), "keys.pem");
	const read = async (pem: string) => {
		await writeFile(file, pem);
		return readSettings({ RELEASE_KEYS: file }).releaseKeys;
	};
	const make = (namedCurve = "P-256") => {
		const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve });
		const publicPem = String(publicKey.export({ type: "spki", format: "pem" }));
		return { publicPem, privatePem: String(privateKey.export({ type: "pkcs8", format: "pem" })) };
	};
	const [first, second, third] = [make(), make(), make()];
	assert.equal((await read(first.publicPem)).length, 1);
	const both = await read(`# Ours\n${first.publicPem}${second.publicPem}`);
	assert.deepEqual(both, [...(await read(first.publicPem)), ...(await read(second.publicPem))]);
	assert.notDeepEqual(both[0], both[1]);
	for (const [pem, reason] of [
		["", /it contains 0 public keys/],
		[first.publicPem + second.publicPem + third.publicPem, /it contains 3 public keys/],
		[first.privatePem, /it contains a private key\. Use only the public key/],
		[first.publicPem + first.privatePem, /it contains a private key/],
		[make("P-384").publicPem, /other than ECDSA P-256/],
		["-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", /^Invalid RELEASE_KEYS/],
	] as const)
		await assert.rejects(read(pem), { name: "StartError", message: reason });
});

describe("invalid value is rejected with a remedy", () => {
	for (const [name, values] of Object.entries({
		PORT: ["x", "-1", "65536", "80.5", "0x50", "1e3", "8 0"],
		MAX_UPLOAD: ["0", "-1", "many", "16G", "1.5M"],
		TZ: ["GMT+2", "CET-1CEST", "+02:00", "Europe/Berln", ":/etc/localtime", "Etc/Unknown"],
		LOG_LEVEL: ["verbose", "INFO"],
		AUTH: ["no", "OFF", "0"],
		IMAGE_CHECK: ["false"],
		DECODE_COMMAND: ["ffmpegg -i -"],
		SPEECH_COMMAND: ['sh "--stdout', '""', "espeakk --stdout", "./espeakk", "/usr/bin"],
		RELEASE_KEYS: ["/nowhere/keys.pem"],
		MQTT_CA_FILE: ["/nowhere/ca.pem"],
		MQTT_PASSWORD: ["without MQTT_URL"],
		MQTT_URL: ["http://a", "mqtt://", "mqtt://a/path", "mqtt://%zz@a"],
		PUBLIC_URL: ["gateway.example", "ftp://a", "https://user:secret@a", "https://a/?q", "https://a/#h"],
		TLS_CERT: ["/nowhere/cert.pem"],
		TLS_KEY: ["/nowhere/key.pem"],
		NATS_URL: ["10.0.0.1:4222", "http://a", "nats://", "nats://a,", "nats://a b", "nats://%zz@a"],
		NATS_CREDS: ["/nowhere/a.creds"],
		NATS_CA: ["/nowhere/ca.pem"],
		NATS_ALLOW_OLD: ["yes"],
		GATEWAY_NAME: ["two\nlines", "\u{1f642}".repeat(65), "\u202egnp"],
	}))
		test(name, { skip: !documented.has(name) }, () => {
			for (const value of values)
				assert.throws(() => readEvery({ [name]: value }), {
					name: "StartError",
					message: new RegExp(`${name}.*([Ss]et|correct|requires|Write|install)|Set ${name}`),
				});
		});

	test("for a token, without repeating it", () => {
		const [first, second, third] = ["a-token-0123456789", "b-token-0123456789", "c-token-0123456789"];
		for (const value of [
			...["short", "with a space in the middle", "ümlaut-ümlaut-ümlaut", "x".repeat(513)],
			...[`${first},`, `,${first}`, [first, second, third].join()],
		])
			for (const name of ["DEVICE_TOKEN", "MONITOR_TOKEN"])
				assert.throws(
					() => readSettings({ [name]: value }),
					({ message }) => message.startsWith(`Invalid ${name}.`) && !message.includes(value),
				);
	});
});
