/** Certificates for tests, made by openssl: an authority, and server certificates that are right or wrong in one thing. */

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificate {
	/** PEM, as is `key`. */
	readonly cert: string;
	readonly key: string;
}

export class Authority {
	readonly #folder: string;
	readonly #name: string;
	readonly certificate: string;

	/** @param folder where its files go */
	constructor(folder: string, name: string) {
		this.#folder = folder;
		this.#name = name;
		openssl(
			`req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=${name} ` +
				`-keyout ${this.#path("key")} -out ${this.#path("pem")}`,
		);
		this.certificate = readFileSync(this.#path("pem"), "utf8");
	}

	/** @param names as in a subjectAltName, e.g. `DNS:localhost`; @param days of validity, below 0: it has expired */
	issue(names: string, days = 30): Certificate {
		const base = join(this.#folder, `server-${names.replace(/\W/g, "-")}-${days}`);
		writeFileSync(`${base}.ext`, `subjectAltName=${names}\n`);
		openssl(
			"req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server " +
				`-keyout ${base}.key -out ${base}.csr`,
		);
		openssl(
			`x509 -req -in ${base}.csr -CA ${this.#path("pem")} -CAkey ${this.#path("key")} -CAcreateserial ` +
				`-days ${days} -extfile ${base}.ext -out ${base}.pem`,
		);
		return { cert: readFileSync(`${base}.pem`, "utf8"), key: readFileSync(`${base}.key`, "utf8") };
	}

	#path(extension: string): string {
		return join(this.#folder, `${this.#name}.${extension}`);
	}
}

/** Why certificates cannot be made on this computer; undefined where they can. */
export function whyNoCertificates(): string | undefined {
	try {
		openssl("version");
		return undefined;
	} catch {
		return "there is no openssl on this computer";
	}
}

function openssl(options: string): void {
	execFileSync("openssl", options.split(" "), { stdio: "pipe" });
}
