/** Tests of the certificate: rejection at the start, and renewal at run time. */

import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import disk, { rename, symlink, writeFile } from "node:fs/promises";
import { createServer, get } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { Registry } from "prom-client";
import { ServerCertificate } from "../../../gateway/http/certificate.js";
import { createMetrics } from "../../../gateway/telemetry/metrics.js";
import { Authority, type Certificate, selfSigned, tlsFiles } from "../../support/certificates.js";
import { onEnd } from "../../support/cleanup.js";
import { nextEvent, waitUntil } from "../../support/eventually.js";
import { readStartupOutput, startProcess } from "../../support/gateway-process.js";
import { whyMissing } from "../../support/programs.js";
import { recordLog } from "../../support/recorded-log.js";
import { bearer, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";

const skip = whyMissing("openssl");
const name = "IP:127.0.0.1";
const dayMs = 24 * 60 * 60 * 1000;

/** Certificate presented to a new connection. */
async function served(t: TestContext, url: string): Promise<string> {
	const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port), rejectUnauthorized: false });
	onEnd(t, () => socket.destroy());
	await nextEvent(socket, "secureConnect");
	const { raw } = socket.getPeerCertificate();
	socket.end();
	return new X509Certificate(raw).fingerprint256;
}

function fingerprint({ cert }: Certificate): string {
	return new X509Certificate(cert).fingerprint256;
}

/** Certificate without a gateway, and what it serves. */
function watch(t: TestContext, folder: string, certificate: Certificate) {
	const clock = { now: Date.now() + 60_000 };
	const { lines, log } = recordLog();
	const watched = new ServerCertificate({
		files: tlsFiles(folder, certificate),
		disk,
		log,
		metrics: createMetrics(new Registry()),
		now: () => clock.now,
		checkMs: 1e9,
	});
	onEnd(t, () => watched.close());
	const served: string[] = [];
	const server = createServer();
	t.mock.method(server, "setSecureContext", ({ cert }: { cert: Buffer }) => served.push(cert.toString()));
	return { clock, watched, served, open: () => watched.open(server), lines };
}

describe("certificate is rejected at the start:", { skip }, () => {
	const cases: Readonly<
		Record<string, (folder: string, authority: Authority) => readonly [Certificate, RegExp]>
	> = {
		"a key of P-384": (folder) => [selfSigned(folder, name, "p384"), /type secp384r1, .+ RSA or P-256/],
		"a key of secp256k1": (folder) => [selfSigned(folder, name, "secp256k1"), /type secp256k1/],
		"an Ed25519 key": (folder) => [selfSigned(folder, name, "ed25519"), /type ed25519/],
		"an RSA-PSS key": (folder) => [selfSigned(folder, name, "rsa-pss"), /type rsa-pss/],
		"an encrypted key": (folder) => {
			const { cert, key } = selfSigned(folder, name);
			const encryption = { cipher: "aes-256-cbc", passphrase: "secret" };
			const encrypted = createPrivateKey(key).export({ format: "pem", type: "pkcs8", ...encryption });
			return [{ cert, key: String(encrypted) }, /^TLS_KEY is encrypted\. .*openssl/];
		},
		"an authority before the server's": (_folder, authority) => {
			const { cert, key } = authority.issue(name);
			const expected = /not in order\. Put the server's certificate first/;
			return [{ cert: authority.certificate + cert, key }, expected];
		},
		"an authority that did not issue it": (folder, authority) => {
			const { cert, key } = authority.issue(name);
			const other = new Authority(folder, "other").certificate;
			return [{ cert: cert + other, key }, /not in order: certificate 2 did not issue certificate 1/];
		},
		"an issuer that is no authority": (_folder, authority) => {
			const issuer = authority.issue("DNS:issuer");
			const { cert, key } = authority.issueBelow(issuer, name);
			return [{ cert: cert + issuer.cert + authority.certificate, key }, /^Certificate 2 .*basicConstraints/];
		},
		"the key of another certificate": (_folder, authority) => {
			const { key } = authority.issue("DNS:other");
			return [{ ...authority.issue(name), key }, /^TLS_KEY is not the key/];
		},
		"the two files exchanged": (folder) => {
			const { cert, key } = selfSigned(folder, name);
			return [{ cert: key, key: cert }, /\(TLS_CERT has no certificate\)/];
		},
	};
	test("if unusable, with a reason", async (t) => {
		for (const [what, make] of Object.entries(cases)) {
			const folder = await temporaryDirectory(t);
			const [certificate, message] = make(folder, new Authority(folder, "ca"));
			const { open } = watch(t, folder, certificate);
			await assert.rejects(open, { name: "StartError", message }, what);
		}
	});

	test("but not a P-256 certificate of a P-384 authority with its chain", async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "ca", "p384");
		const { cert, key } = authority.issue(name, 30, "ec");
		const { open, watched } = watch(t, folder, { cert: cert + authority.certificate, key });
		await open();
		assert.deepEqual(watched.warnings, []);
	});
});

describe("renewed certificate", { skip }, () => {
	/** Links to the files of the latest renewal, as certbot creates them. */
	async function letsRenew(folder: string, number: number, { cert, key }: Certificate): Promise<void> {
		for (const [name, pem] of Object.entries({ cert, key })) {
			await writeFile(join(folder, `${name}${number}.pem`), pem);
			await symlink(`${name}${number}.pem`, join(folder, "new"));
			await rename(join(folder, "new"), join(folder, `${name}.pem`));
		}
	}

	test("is served to new connections automatically, and keeps devices connected", async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "ca");
		const [first, second] = [authority.issue(name, 20), authority.issue(name, 30)];
		await letsRenew(folder, 1, first);
		const tls = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
		const limits = { certificateCheckMs: 20 };
		const gateway = await runGateway(t, { tls, limits, authority: authority.certificate });
		const device = await gateway.device();
		assert.equal(await served(t, gateway.url), fingerprint(first));
		await letsRenew(folder, 2, second);
		await waitUntil(async () => (await served(t, gateway.url)) === fingerprint(second));
		assert.equal(device.socket.readyState, device.socket.OPEN);
	});

	test("is reported if invalid, and the previous one stays in use; then its authority is another one", async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "ca");
		const [first, second, unrelated] = [name, "DNS:two", "DNS:three"].map((names) => authority.issue(names));
		assert.ok(first && second && unrelated, "three certificates");
		const { open, watched, served } = watch(t, folder, first);
		await open();
		for (const [broken, reason] of [
			[{ ...second, key: unrelated.key }, /previous one stays in use: TLS_KEY is not the key/],
			[{ ...second, cert: second.cert.slice(0, 100) }, /TLS_CERT has no certificate/],
			[selfSigned(folder, name, "ed25519"), /type ed25519/],
		] as const) {
			tlsFiles(folder, broken);
			await watched.reload();
			assert.match(String(watched.warnings), reason);
			assert.deepEqual([served, watched.authority], [[first.cert], undefined]);
		}
		const renewed = selfSigned(folder, name);
		for (const certificate of [second, renewed]) {
			tlsFiles(folder, certificate);
			await watched.reload();
			assert.deepEqual([watched.warnings, served.at(-1)], [[], certificate.cert]);
		}
		assert.equal(watched.authority, renewed.cert);
	});

	test("is applied immediately on SIGHUP, which does not stop the gateway", async (t) => {
		const folder = await temporaryDirectory(t);
		const [first, second] = [selfSigned(folder, name, "rsa"), selfSigned(folder, name)];
		const { cert: TLS_CERT, key: TLS_KEY } = tlsFiles(folder, first);
		const child = startProcess(t, { DATA_DIR: folder, TLS_CERT, TLS_KEY });
		const { Dashboard = "" } = await readStartupOutput(child);
		assert.equal(await served(t, Dashboard), fingerprint(first));
		tlsFiles(folder, second);
		child.kill("SIGHUP");
		await waitUntil(async () => (await served(t, Dashboard)) === fingerprint(second));
		assert.equal(child.exitCode, null);
	});
});

describe("certificate expiry", { skip }, () => {
	test("is a warning within 14 days and afterwards, also of authorities in the chain, and logged", async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "ca");
		const { cert, key } = authority.issue(name, 15);
		const expiresAt = Date.parse(new X509Certificate(cert).validTo);
		const { open, watched, clock, lines } = watch(t, folder, { cert: cert + authority.certificate, key });
		await open();
		const at = new Date(expiresAt).toISOString();
		for (const [daysLeft, ...expected] of [
			[14.1],
			[13.9, `The TLS certificate expires at ${at}. Renew it.`],
			[-0.1, `The TLS certificate expired at ${at}, so clients reject it. Renew it.`],
		] as const) {
			clock.now = expiresAt - daysLeft * dayMs;
			const warnings = watched.warnings.filter((warning) => /^The TLS/.test(warning));
			assert.deepEqual(warnings, expected);
		}
		clock.now = Date.parse(new X509Certificate(authority.certificate).validTo) - dayMs;
		assert.match(String(watched.warnings), /Certificate 2 of TLS_CERT expires at /);
		await watched.reload();
		assert.match(JSON.stringify(lines), /The TLS certificate expired at /);
	});

	test("is a metric, and a warning of /readyz", async (t) => {
		const folder = await temporaryDirectory(t);
		const own = selfSigned(folder, name);
		const expiresAt = Date.parse(new X509Certificate(own.cert).validTo);
		const { url } = await runGateway(t, { tls: tlsFiles(folder, own), now: () => expiresAt + dayMs });
		const read = async (path: string) => {
			const options = { rejectUnauthorized: false, headers: bearer(monitorToken) };
			const [response] = await nextEvent(get(`${url}${path}`, options), "response");
			return text(response);
		};
		const line = `gateway_certificate_expiry_timestamp_seconds ${expiresAt / 1000}\n`;
		assert.ok((await read("/metrics")).includes(line), line);
		assert.match(JSON.parse(await read("/readyz")).warnings[0], /^The TLS certificate expired at /);
	});
});
