/** Tests of the certificate: rejection at the start, and renewal at run time. */

import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { rename, symlink, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { StartError } from "../../../gateway/problem.js";
import { Authority, type Certificate, selfSigned, tlsFiles } from "../../support/certificates.js";
import { onEnd } from "../../support/cleanup.js";
import { eventually, nextEvent } from "../../support/eventually.js";
import { readStartupOutput, startProcess } from "../../support/gateway-process.js";
import { whyMissing } from "../../support/programs.js";
import { bearer, deviceToken, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";

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

async function readWarnings(url: string): Promise<unknown> {
	const [response] = await nextEvent(get(`${url}/readyz`, { rejectUnauthorized: false }), "response");
	return JSON.parse(await text(response)).warnings;
}

describe("certificate is rejected at the start:", { skip }, () => {
	const cases: Readonly<Record<string, (folder: string) => readonly [Certificate, RegExp]>> = {
		"a key of P-384": (folder) => [selfSigned(folder, name, "p384"), /type P-384, .+ RSA or P-256/],
		"a key of secp256k1": (folder) => [selfSigned(folder, name, "secp256k1"), /type secp256k1/],
		"an Ed25519 key": (folder) => [selfSigned(folder, name, "ed25519"), /type Ed25519/],
		"an RSA-PSS key": (folder) => [selfSigned(folder, name, "rsa-pss"), /type RSA-PSS/],
		"an encrypted key": (folder) => {
			const { cert, key } = selfSigned(folder, name);
			const encrypted = createPrivateKey(key).export({
				format: "pem",
				type: "pkcs8",
				cipher: "aes-256-cbc",
				passphrase: "secret",
			});
			return [{ cert, key: encrypted.toString() }, /^TLS_KEY is encrypted\. .*openssl/];
		},
		"an authority before the server's": (folder) => {
			const authority = new Authority(folder, "ca");
			const { cert, key } = authority.issue(name);
			return [
				{ cert: authority.certificate + cert, key },
				/not in order\. Put the server's certificate first/,
			];
		},
		"an authority that did not issue it": (folder) => {
			const { cert, key } = new Authority(folder, "ca").issue(name);
			const other = new Authority(folder, "other").certificate;
			return [{ cert: cert + other, key }, /not in order: certificate 2 did not issue certificate 1/];
		},
		"an issuer that is no authority": (folder) => {
			const authority = new Authority(folder, "ca");
			const issuer = authority.issue("DNS:issuer");
			const { cert, key } = authority.issueBelow(issuer, name);
			return [{ cert: cert + issuer.cert + authority.certificate, key }, /^Certificate 2 .*basicConstraints/];
		},
		"the key of another certificate": (folder) => {
			const authority = new Authority(folder, "ca");
			const { key } = authority.issue("DNS:other");
			return [{ ...authority.issue(name), key }, /^TLS_KEY is not the key/];
		},
		"the two files exchanged": (folder) => {
			const { cert, key } = selfSigned(folder, name);
			return [{ cert: key, key: cert }, /\(TLS_CERT has no certificate\)/];
		},
	};
	for (const [what, make] of Object.entries(cases))
		test(what, async (t) => {
			const folder = await temporaryDirectory(t);
			const [certificate, sentence] = make(folder);
			await assert.rejects(runGateway(t, { tls: tlsFiles(folder, certificate) }), (error) => {
				assert.ok(error instanceof StartError, String(error));
				assert.match(error.message, sentence);
				return true;
			});
		});

	test("accepts a P-256 certificate of a P-384 authority with its chain", async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "ca", "p384");
		const { cert, key } = authority.issue(name, 30, "ec");
		const { url } = await runGateway(t, {
			tls: tlsFiles(folder, { cert: cert + authority.certificate, key }),
		});
		assert.equal(await served(t, url), fingerprint({ cert, key }));
	});
});

describe("renewed certificate", { skip }, () => {
	/** Links to the files of the latest renewal, as certbot creates them. */
	async function letsRenew(folder: string, number: number, { cert, key }: Certificate): Promise<void> {
		for (const [name, pem] of [
			["cert", cert],
			["key", key],
		] as const) {
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
		await eventually(
			() => served(t, gateway.url),
			(shown) => shown === fingerprint(second),
		);
		assert.equal(device.socket.readyState, device.socket.OPEN);
	});

	test("is reported if invalid, and the previous one stays in use", async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "ca");
		const [first, second, unrelated] = [name, "DNS:two", "DNS:three"].map((names) => authority.issue(names));
		assert.ok(first && second && unrelated, "three certificates");
		const tls = tlsFiles(folder, first);
		const { gateway, url } = await runGateway(t, { tls });
		for (const [broken, reason] of [
			[{ ...second, key: unrelated.key }, /previous one stays in use: TLS_KEY is not the key/],
			[{ ...second, cert: second.cert.slice(0, 100) }, /TLS_CERT has no certificate/],
			[selfSigned(folder, name, "ed25519"), /type Ed25519/],
		] as const) {
			tlsFiles(folder, broken);
			await gateway.reload();
			assert.match(JSON.stringify(await readWarnings(url)), reason);
			assert.equal(await served(t, url), fingerprint(first));
		}
		tlsFiles(folder, second);
		await gateway.reload();
		assert.equal(await readWarnings(url), undefined);
		assert.equal(await served(t, url), fingerprint(second));
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
		await eventually(
			() => served(t, Dashboard),
			(shown) => shown === fingerprint(second),
		);
		assert.equal(child.exitCode, null);
	});

	test("sends its authority to updated devices", async (t) => {
		const folder = await temporaryDirectory(t);
		const tls = tlsFiles(folder, selfSigned(folder, name, "rsa"));
		const { gateway, url } = await runGateway(t, { tls });
		const renewed = selfSigned(folder, name);
		tlsFiles(folder, renewed);
		await gateway.reload();
		const options = { rejectUnauthorized: false, headers: bearer(monitorToken) };
		const [response] = await nextEvent(get(`${url}/api/device-setup`, options), "response");
		assert.equal(JSON.parse(await text(response)).authority, renewed.cert);
	});
});

describe("certificate expiry", { skip }, () => {
	/** @param aheadMs offset of the gateway's clock */
	async function run(t: TestContext, days: number, aheadMs = 0) {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "ca");
		const own = authority.issue(name, days);
		const { url } = await runGateway(t, { tls: tlsFiles(folder, own), now: () => Date.now() + aheadMs });
		const expiresAt = Date.parse(new X509Certificate(own.cert).validTo);
		return { url, expiresAt, warnings: await readWarnings(url) };
	}

	test("is a metric, without a warning before 14 days", async (t) => {
		const { url, expiresAt, warnings } = await run(t, 15);
		assert.equal(warnings, undefined);
		const options = { rejectUnauthorized: false, headers: bearer(monitorToken) };
		const [response] = await nextEvent(get(`${url}/metrics`, options), "response");
		const line = `gateway_certificate_expiry_timestamp_seconds ${expiresAt / 1000}\n`;
		assert.ok((await text(response)).includes(line), line);
	});

	for (const [what, days, inDays, sentence] of [
		["within 14 days", 14, 0, "expires at AT. Renew it."],
		["in the past", 1, 2, "expired at AT, so clients reject it. Renew it."],
	] as const)
		test(`${what} is a warning of /readyz`, async (t) => {
			const { expiresAt, warnings } = await run(t, days, inDays * dayMs);
			const at = new Date(expiresAt).toISOString();
			assert.deepEqual(warnings, [`The TLS certificate ${sentence.replace("AT", at)}`]);
		});

	test("includes authorities in the chain", async (t) => {
		const folder = await temporaryDirectory(t);
		const authority = new Authority(folder, "ca");
		const { cert, key } = authority.issue(name, 90);
		const tls = tlsFiles(folder, { cert: cert + authority.certificate, key });
		const { url } = await runGateway(t, { tls, now: () => Date.now() + 20 * dayMs });
		assert.match(JSON.stringify(await readWarnings(url)), /Certificate 2 of TLS_CERT expires at /);
	});

	test("is logged at the start if in the past", async (t) => {
		const folder = await temporaryDirectory(t);
		const { cert: TLS_CERT, key: TLS_KEY } = tlsFiles(folder, new Authority(folder, "ca").issue(name, -1));
		const given = { DEVICE_TOKEN: deviceToken, MONITOR_TOKEN: monitorToken };
		const child = startProcess(t, { DATA_DIR: folder, ...given, TLS_CERT, TLS_KEY });
		await readStartupOutput(child);
		child.kill("SIGTERM");
		assert.match(await text(child.stderr ?? Readable.from([])), /The TLS certificate expired at /);
	});
});
