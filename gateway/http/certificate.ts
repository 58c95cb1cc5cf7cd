/**
 * TLS certificate, loaded from PEM files, checked for compatibility with boards, and reloaded after a renewal. An invalid
 * renewal is reported, and the previous certificate stays in use.
 */

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext, type Server } from "node:tls";
import type { Logger } from "pino";
import { messageOf } from "../../device/message-of.js";
import { commands } from "../../device/protocol/messages.js";
import { errorCode, StartError } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import type { TlsFiles } from "../settings.js";
import type { Disk } from "../storage/atomic-file.js";
import type { Metrics } from "../telemetry/metrics.js";

export interface ServerCertificateOptions {
	readonly files: TlsFiles;
	readonly disk: Disk;
	readonly log: Logger;
	readonly metrics: Metrics;
	/** Milliseconds since 1970. */
	readonly now: () => number;
	/** Interval of reading the files, in ms. */
	readonly checkMs: number;
}

interface Loaded {
	readonly cert: Buffer;
	readonly key: Buffer;
	readonly chain: readonly X509Certificate[];
}

const expiresSoonMs = 14 * 24 * 60 * 60 * 1000;
/** Maximum length of a CA certificate in `start_ota`; a longer one must be in the device's settings. */
const maxAuthorityLength = commands.start_ota.fields.cert_pem.maxLength;

export class ServerCertificate {
	readonly #options: ServerCertificateOptions;
	#loaded: Loaded | undefined;
	#server: Server | undefined;
	#timer: NodeJS.Timeout | undefined;
	/** Reason why the current files are not in use. */
	#problem: string | undefined;
	/** Warnings already logged. */
	#logged: readonly string[] = [];

	constructor(options: ServerCertificateOptions) {
		this.#options = options;
		options.metrics.watch(
			"gateway_certificate_expiry_timestamp_seconds",
			"Earliest expiry of the TLS certificate and its authorities, in seconds since 1970",
			() => Math.min(...this.#chain.map(({ validTo }) => Date.parse(validTo))) / 1000,
		);
	}

	/** Loads the certificate for a server, and starts watching the files. @throws {StartError} if it is unusable */
	async open(server: Server): Promise<void> {
		const loaded = await this.#load();
		if (typeof loaded === "string") throw new StartError(loaded);
		this.#server = server;
		this.#apply(loaded);
		// Polling, since file system events do not cover symbolic links, mounts and network shares.
		this.#timer = setInterval(() => void this.reload(), this.#options.checkMs).unref();
	}

	close(): void {
		clearInterval(this.#timer);
	}

	/** Reloads the files, and uses a valid certificate for new connections. */
	async reload(): Promise<void> {
		const loaded = await this.#load();
		this.#problem =
			typeof loaded === "string"
				? `TLS certificate not reloaded, the previous one stays in use: ${loaded}`
				: undefined;
		const { cert, key } = this.#loaded ?? {};
		if (typeof loaded === "string" || (cert?.equals(loaded.cert) && key?.equals(loaded.key)))
			return this.#logWarnings();
		this.#apply(loaded);
		this.#options.log.info({ subject: loaded.chain[0]?.subjectAltName }, "TLS certificate reloaded");
	}

	/** Problems and remedies, as sentences. */
	get warnings(): readonly string[] {
		const now = this.#options.now();
		const ofChain = this.#chain.flatMap(({ validFrom, validTo, subjectAltName }, index) => {
			const which = index === 0 ? "The TLS certificate" : `Certificate ${index + 1} of TLS_CERT`;
			const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
			const warnings: string[] = [];
			if (to < now) warnings.push(`${which} expired at ${isoTime(to)}, so clients reject it. Renew it.`);
			else if (to < now + expiresSoonMs) warnings.push(`${which} expires at ${isoTime(to)}. Renew it.`);
			if (from > now)
				warnings.push(`${which} is not valid before ${isoTime(from)}. Check the clock of this computer.`);
			if (index === 0 && !/\b(DNS|IP Address):/.test(subjectAltName ?? ""))
				warnings.push(`${which} has no host name, so clients reject it. Reissue it with a subjectAltName.`);
			return warnings;
		});
		return this.#problem === undefined ? ofChain : [this.#problem, ...ofChain];
	}

	/**
	 * CA certificate with which devices verify the server: the last one of the chain, if it is self-signed. Otherwise
	 * undefined, since devices have the public CA certificates.
	 */
	get authority(): string | undefined {
		const last = this.#chain.at(-1);
		const pem = last?.checkIssued(last) ? last.toString() : undefined;
		return pem !== undefined && pem.length <= maxAuthorityLength ? pem : undefined;
	}

	get #chain(): readonly X509Certificate[] {
		return this.#loaded?.chain ?? [];
	}

	#apply(loaded: Loaded): void {
		this.#loaded = loaded;
		this.#server?.setSecureContext({ cert: loaded.cert, key: loaded.key });
		this.#logWarnings();
	}

	#logWarnings(): void {
		const { warnings } = this;
		for (const problem of warnings)
			if (!this.#logged.includes(problem)) this.#options.log.warn({ problem }, "TLS certificate");
		this.#logged = warnings;
	}

	/** Reads and checks the files. @returns a sentence if they are unusable */
	async #load(): Promise<Loaded | string> {
		const { cert: certPath, key: keyPath } = this.#options.files;
		try {
			const cert = await this.#readFile("TLS_CERT", certPath);
			const key = await this.#readFile("TLS_KEY", keyPath);
			const chain = chainOf(cert);
			requirePair(chain, keyOf(key));
			for (const [index, certificate] of chain.entries()) requireUsable(certificate, index, chain[index + 1]);
			createSecureContext({ cert, key });
			return { cert, key, chain };
		} catch (error) {
			if (error instanceof StartError) return error.message;
			return `Cannot use TLS_CERT and TLS_KEY (${messageOf(error)}). Set them to a certificate and its key in PEM format.`;
		}
	}

	async #readFile(name: string, path: string): Promise<Buffer> {
		try {
			return await this.#options.disk.readFile(path);
		} catch (error) {
			throw new StartError(`Cannot read "${path}" (${errorCode(error)}). Set ${name} to a PEM file.`);
		}
	}
}

function chainOf(pem: Buffer): readonly X509Certificate[] {
	const blocks = pem.toString().match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
	if (!blocks) throw new Error("TLS_CERT has no certificate");
	return blocks.map((block) => new X509Certificate(block));
}

function keyOf(pem: Buffer): KeyObject {
	if (/ENCRYPTED/.test(pem.toString()))
		throw new StartError("TLS_KEY is encrypted. Decrypt it: openssl pkey -in encrypted.pem -out key.pem.");
	if (!/PRIVATE KEY-----/.test(pem.toString())) throw new Error("TLS_KEY has no private key");
	return createPrivateKey(pem);
}

function requirePair([own, ...authorities]: readonly X509Certificate[], key: KeyObject): void {
	if (own?.checkPrivateKey(key)) return;
	const isOfLaterCertificate = authorities.some((authority) => authority.checkPrivateKey(key));
	throw new StartError(
		isOfLaterCertificate
			? "TLS_CERT is not in order. Put the server's certificate first, followed by those of its authorities."
			: "TLS_KEY is not the key of the first certificate in TLS_CERT. Set both to files of the same certificate.",
	);
}

/** @param issuer next certificate of the chain @throws {StartError} if boards reject it (hosts/moddable/tls) */
function requireUsable(certificate: X509Certificate, index: number, issuer: X509Certificate | undefined) {
	const { asymmetricKeyType = "unknown", asymmetricKeyDetails: details } = certificate.publicKey;
	const type = details?.namedCurve ?? asymmetricKeyType;
	const which = index === 0 ? "" : `Certificate ${index + 1} of `;
	// A P-384 authority, such as Let's Encrypt's, may issue a P-256 certificate.
	if (type !== "rsa" && type !== "prime256v1" && (type !== "secp384r1" || index === 0))
		throw new StartError(
			`${which}TLS_CERT has a key of type ${type}, which boards do not support. Use an RSA or P-256 key.`,
		);
	if (!issuer) return;
	if (!certificate.checkIssued(issuer) || !certificate.verify(issuer.publicKey))
		throw new StartError(
			`TLS_CERT is not in order: certificate ${index + 2} did not issue certificate ${index + 1}. Put the server's certificate first, followed by those of its authorities.`,
		);
	if (!issuer.ca && !issuer.checkIssued(issuer))
		throw new StartError(
			`Certificate ${index + 2} of TLS_CERT is not a CA certificate (basicConstraints), so boards reject it. Remove it.`,
		);
}
