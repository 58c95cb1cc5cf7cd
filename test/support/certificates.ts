/** Test certificates made by openssl: an authority, and server certificates that are valid or have one fault. */

import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TlsFiles } from "../../gateway/settings.js";
import { pathOf } from "./programs.js";

export interface Certificate {
	/** PEM, as `key`. */
	readonly cert: string;
	readonly key: string;
}

const newKey = Object.freeze({
	ec: "ec -pkeyopt ec_paramgen_curve:P-256",
	p384: "ec -pkeyopt ec_paramgen_curve:P-384",
	rsa: "rsa:2048",
	"rsa-pss": "rsa-pss",
	secp256k1: "ec -pkeyopt ec_paramgen_curve:secp256k1",
	ed25519: "ed25519",
});
export type KeyKind = keyof typeof newKey;

export class Authority {
	readonly #folder: string;
	readonly #name: string;
	readonly #kind: KeyKind;
	readonly certificate: string;

	/**
	 * @param folder output folder
	 * @param kind type of its key and of the keys it signs
	 * @param hasKeyIdentifiers whether it names its own and its issuer's key, which is optional in a self-signed
	 * certificate (RFC 5280, 4.2.1.1)
	 */
	constructor(folder: string, name: string, kind: KeyKind = "ec", hasKeyIdentifiers = true) {
		this.#folder = folder;
		this.#name = name;
		this.#kind = kind;
		const identifiers = "subjectKeyIdentifier=none\nauthorityKeyIdentifier=none\n";
		writeFileSync(
			this.#path("conf"),
			`[req]\ndistinguished_name=dn\n[dn]\n[bare]\nbasicConstraints=critical,CA:TRUE\n${identifiers}`,
		);
		openssl(
			`req -x509 -newkey ${newKey[kind]} -nodes -days 30 -subj /CN=${name} ` +
				(hasKeyIdentifiers ? "" : `-config ${this.#path("conf")} -extensions bare `) +
				`-keyout ${this.#path("key")} -out ${this.#path("pem")}`,
		);
		this.certificate = readFileSync(this.#path("pem"), "utf8");
	}

	/** DER of the certificate in base64, the format of the setting `ca`. */
	get base64(): string {
		return new X509Certificate(this.certificate).raw.toString("base64");
	}

	/** Issues a certificate with the key of `issuer`, which is no authority. */
	issueBelow(issuer: Certificate, names: string): Certificate {
		const base = join(this.#folder, "below");
		writeFileSync(`${base}.ext`, `subjectAltName=${names}\n`);
		writeFileSync(`${base}-issuer.pem`, issuer.cert);
		writeFileSync(`${base}-issuer.key`, issuer.key, { mode: 0o600 });
		openssl(`req -newkey ${newKey[this.#kind]} -nodes -subj /CN=below -keyout ${base}.key -out ${base}.csr`);
		openssl(
			`x509 -req -in ${base}.csr -CA ${base}-issuer.pem -CAkey ${base}-issuer.key -CAcreateserial ` +
				`-days 30 -extfile ${base}.ext -out ${base}.pem`,
		);
		return read(base);
	}

	/**
	 * @param names value of subjectAltName, e.g. `DNS:localhost` @param days of validity; below 0: expired
	 * @param kind type of its key
	 */
	issue(names: string, days = 30, kind = this.#kind): Certificate {
		const base = join(this.#folder, `server-${names.replace(/\W/g, "-")}-${days}`);
		writeFileSync(`${base}.ext`, `subjectAltName=${names}\n`);
		openssl(`req -newkey ${newKey[kind]} -nodes -subj /CN=server ` + `-keyout ${base}.key -out ${base}.csr`);
		openssl(
			`x509 -req -in ${base}.csr -CA ${this.#path("pem")} -CAkey ${this.#path("key")} -CAcreateserial ` +
				`-days ${days} -extfile ${base}.ext -out ${base}.pem`,
		);
		return read(base);
	}

	/** Issues a certificate that is valid from 2090 on. */
	issueEarly(names: string): Certificate {
		const { cert, key } = this.issue(names);
		const base = this.#path("early");
		writeFileSync(`${base}.pem`, cert);
		writeFileSync(`${base}.key`, key, { mode: 0o600 });
		writeFileSync(`${base}.db`, "");
		writeFileSync(
			`${base}.conf`,
			`[ca]\ndefault_ca=own\n[own]\ndatabase=${base}.db\nnew_certs_dir=${this.#folder}\npolicy=any\ndefault_md=sha256\nx509_extensions=names\nrand_serial=yes\n[any]\ncommonName=supplied\n[names]\nsubjectAltName=${names}\n`,
		);
		openssl(`req -new -key ${base}.key -subj /CN=server -out ${base}.csr`);
		openssl(
			`ca -batch -notext -config ${base}.conf -cert ${this.#path("pem")} -keyfile ${this.#path("key")} ` +
				`-startdate 20900101000000Z -enddate 20910101000000Z -in ${base}.csr -out ${base}.pem`,
		);
		return read(base);
	}

	#path(extension: string): string {
		return join(this.#folder, `${this.#name}.${extension}`);
	}
}

/** Server certificate that is its own authority. @param folder output folder @param kind type of its key */
export function selfSigned(folder: string, names: string, kind: KeyKind = "ec"): Certificate {
	const base = join(folder, "self-signed");
	openssl(
		`req -x509 -newkey ${newKey[kind]} -nodes -days 30 -subj /CN=self -addext subjectAltName=${names} ` +
			`-keyout ${base}.key -out ${base}.pem`,
	);
	return read(base);
}

function read(base: string): Certificate {
	return { cert: readFileSync(`${base}.pem`, "utf8"), key: readFileSync(`${base}.key`, "utf8") };
}

/** Writes it to a folder for TLS_CERT and TLS_KEY. */
export function tlsFiles(folder: string, { cert, key }: Certificate): TlsFiles {
	const files = { cert: join(folder, "tls-cert.pem"), key: join(folder, "tls-key.pem") };
	writeFileSync(files.cert, cert);
	writeFileSync(files.key, key);
	return files;
}

function openssl(options: string): void {
	execFileSync(pathOf("openssl"), options.split(" "), { stdio: "pipe" });
}
