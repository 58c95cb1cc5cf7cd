import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { describe, test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { bundlePage } from "../../../gateway/dashboard/bundle.js";
import { bearer, deviceToken, monitorToken, runGateway, temporaryDirectory } from "../../support/running.js";

/** Sends a request with node:http, because fetch decodes the response. */
function get(url: string, headers: Record<string, string> = {}) {
	return new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>(
		(resolve, reject) => {
			request(url, { headers }, (response) => {
				const chunks: Buffer[] = [];
				response.on("data", (chunk: Buffer) => chunks.push(chunk));
				response.on("end", () =>
					resolve({
						status: response.statusCode ?? 0,
						headers: response.headers,
						body: Buffer.concat(chunks),
					}),
				);
			})
				.on("error", reject)
				.end();
		},
	);
}

/** Path of a script preloaded by the page. */
async function scriptPath(url: string): Promise<string> {
	const { body } = await get(`${url}/`);
	return /<link rel="modulepreload" href="(assets\/[\w-]+\.js)"/.exec(body.toString())?.[1] ?? "";
}

describe("dashboard files", () => {
	test("need no token, with immutable scripts and a revalidated page", async (t) => {
		const { url } = await runGateway(t);
		const page = await get(`${url}/`);
		assert.deepEqual([page.status, page.headers["cache-control"]], [200, "no-cache"]);
		const script = await get(`${url}/${await scriptPath(url)}`);
		assert.equal(script.headers["cache-control"], "public, max-age=31536000, immutable");
		assert.match(String(script.headers["content-type"]), /^text\/javascript/);
		for (const path of ["/assets/", "/assets/nothing.js", "/page/main.tsx", "/main.tsx"])
			assert.equal((await get(url + path)).status, 404, path);
	});

	test("include what a phone needs to add the page to its home screen, also before the login", async (t) => {
		const { url } = await runGateway(t);
		for (const path of ["/", "/login"]) {
			const { headers, body } = await get(url + path);
			assert.match(String(headers["content-security-policy"]), /manifest-src 'self'/);
			for (const link of [
				'rel="manifest" href="manifest.webmanifest"',
				'rel="apple-touch-icon" href="icon.png"',
			])
				assert.ok(body.includes(link), `${path}: ${link}`);
		}
		const { headers, body } = await get(`${url}/manifest.webmanifest`);
		assert.match(String(headers["content-type"]), /^application\/manifest\+json/);
		const { name, start_url, display, icons } = JSON.parse(body.toString());
		assert.deepEqual([name, start_url, display], ["Device gateway", "./", "standalone"]);
		const purposes = icons.map(({ purpose = "any" }) => purpose);
		assert.deepEqual(purposes, ["any", "any maskable"]);
		for (const { src, type, sizes } of icons) {
			const icon = await get(`${url}/${src}`);
			assert.deepEqual([icon.status, icon.headers["content-type"]], [200, type]);
			// Width and height in the header of a PNG.
			if (sizes !== "any")
				assert.deepEqual([16, 20].map((at) => icon.body.readUInt32BE(at)).join("x"), sizes);
		}
	});

	test("are sent in the requested encoding, each with its own strong ETag", async (t) => {
		const { url } = await runGateway(t);
		const path = `${url}/${await scriptPath(url)}`;
		const plain = await get(path);
		const brotli = await get(path, { "Accept-Encoding": "gzip, br" });
		const gzip = await get(path, { "Accept-Encoding": "gzip" });
		const encodings = [plain, brotli, gzip].map(({ headers }) => headers["content-encoding"]);
		assert.deepEqual(encodings, [undefined, "br", "gzip"]);
		assert.deepEqual(brotliDecompressSync(brotli.body), plain.body);
		assert.deepEqual(gunzipSync(gzip.body), plain.body);
		const tags = [plain, brotli, gzip].map(({ headers }) => String(headers.etag));
		assert.equal(new Set(tags).size, 3);
		for (const tag of tags) assert.match(tag, /^"[^"]+"$/);
		const again = await get(path, { "Accept-Encoding": "br", "If-None-Match": tags[1] ?? "" });
		assert.deepEqual([again.status, again.body.length], [304, 0]);
		assert.equal(plain.headers.vary, "Accept-Encoding");
	});

	test("include an inline style and first script, allowed by hash in the policy", async (t) => {
		const { url } = await runGateway(t);
		const { headers, body } = await get(`${url}/`);
		const policy = String(headers["content-security-policy"]);
		const inline = [...body.toString().matchAll(/<(script|style)[^>]*>(.*?)<\/\1>/gs)];
		const elements = inline.map(([, name]) => name);
		assert.deepEqual(elements, ["script", "style", "script"]);
		for (const [, name, text = ""] of inline) {
			const hash = createHash("sha256").update(text).digest("base64");
			const sources = policy.split(";").find((directive) => directive.startsWith(`${name}-src`));
			assert.ok(sources?.includes(`'sha256-${hash}'`), `${name}: ${sources}`);
		}
	});

	test("start with at most 56 KB of gzipped style and script", async (t) => {
		const { url } = await runGateway(t);
		const names = new Set([""]);
		let size = 0;
		const apart = new Set<string>();
		for (const name of names) {
			const { body } = await get(`${url}/${name}`, { "Accept-Encoding": "gzip" });
			size += body.length;
			for (const [, next] of gunzipSync(body)
				.toString()
				.matchAll(/"\.\/(?:assets\/)?([\w.-]+\.js)"/g))
				if (/^(install-view|later)-/.test(next ?? "")) apart.add(next?.split("-")[0] ?? "");
				else names.add(`assets/${next}`);
		}
		assert.deepEqual(
			[...apart].sort(),
			["install", "later"],
			"loaded after the devices, or by the view that needs it",
		);
		assert.ok(size <= 56 * 1024, `${size} bytes`);
	});
});

test("retries a failed build of the page at the next request, then caches it", async (t) => {
	const entry = join(await temporaryDirectory(t), "main.ts");
	await assert.rejects(bundlePage(entry), /main\.ts/);
	await writeFile(entry, "console.log('built');");
	const { loginPage } = await bundlePage(entry);
	await rm(entry);
	assert.equal((await bundlePage(entry)).loginPage, loginPage);
});

describe("device token", () => {
	test("is shown only to a logged-in monitor, and never cached", async (t) => {
		const { url } = await runGateway(t);
		const { status, headers, body } = await get(`${url}/api/device-token`, bearer(monitorToken));
		assert.equal(status, 200);
		assert.deepEqual(JSON.parse(body.toString()), { token: deviceToken });
		assert.equal(headers["cache-control"], "no-store");
	});
});
