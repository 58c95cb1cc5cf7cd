/**
 * Builds the page from page/ with esbuild, in memory, on the first request. A separate build step could be
 * forgotten, and an old page be served.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { build } from "esbuild";

export interface Asset {
	/** Path of its URL, relative to the page. */
	readonly name: string;
	readonly type: string;
	/** Of the content; part of its ETag. */
	readonly hash: string;
	/** Its name changes with its content: it can be cached without limit. */
	readonly isImmutable: boolean;
	/** SHA-256 of the script in it, for the content security policy. */
	readonly scriptHash?: string;
	readonly content: Buffer;
	readonly gzip: Buffer;
	readonly brotli: Buffer;
}

export interface Bundle {
	/** By name; the page itself is "". */
	readonly assets: ReadonlyMap<string, Asset>;
	/** Filled in by access/login.ts. */
	readonly loginPage: string;
}

const pageFolder = new URL("page/", import.meta.url);
const types: Readonly<Record<string, string>> = {
	html: "text/html; charset=utf-8",
	js: "text/javascript; charset=utf-8",
	css: "text/css; charset=utf-8",
	svg: "image/svg+xml",
};

const common = {
	bundle: true,
	minify: true,
	write: false,
	target: "es2022",
	legalComments: "none",
	logLevel: "silent",
} as const;

/**
 * @param entry the file that starts the page
 * @throws {Error} esbuild's message, with file and line, if the page does not compile
 */
export async function bundlePage(entry = pagePath("main.tsx")): Promise<Bundle> {
	const { outputFiles } = await build({
		...common,
		entryPoints: [entry],
		format: "esm",
		jsx: "automatic",
		jsxImportSource: "preact",
		outdir: "assets",
		entryNames: "dashboard-[hash]",
		chunkNames: "[name]-[hash]",
		splitting: true,
	});
	const early = await build({ ...common, entryPoints: [pagePath("early.ts")], format: "iife" });
	const earlyScript = early.outputFiles[0]?.text.trim() ?? "";
	const built = outputFiles.map(({ path, contents }) => ({
		name: `assets/${basename(path)}`,
		content: Buffer.from(contents),
	}));
	const nameOf = (ending: string) =>
		built.find(({ name }) => name.startsWith("assets/dashboard-") && name.endsWith(ending))?.name ?? "";
	// Otherwise a browser learns of them only once it has the script.
	const first = built.find(({ name }) => name === nameOf(".js"))?.content.toString() ?? "";
	const preload = [...first.matchAll(/\b(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)]
		.map(([, name]) => `<link rel="modulepreload" href="assets/${name}" />`)
		.join("");
	const fill = (html: string) =>
		html
			.replaceAll("%style%", nameOf(".css"))
			.replaceAll("%script%", nameOf(".js"))
			.replace("%early%", () => `<script>${earlyScript}</script>`)
			.replaceAll("%preload%", preload);
	const index = fill(await read("index.html"));
	const loginPage = fill(await read("login.html"));
	const assets = await Promise.all([
		...built.map(({ name, content }) => makeAsset(name, content, true)),
		{ ...(await makeAsset("", Buffer.from(index), false)), scriptHash: sha256(earlyScript, "base64") },
		makeAsset("icon.svg", Buffer.from(await read("icon.svg")), false),
	]);
	return { assets: new Map(assets.map((asset) => [asset.name, asset])), loginPage };
}

async function makeAsset(name: string, content: Buffer, isImmutable: boolean): Promise<Asset> {
	const brotliOptions = {
		params: { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: content.length },
	};
	return {
		name,
		type: types[name.slice(name.lastIndexOf(".") + 1) || "html"] ?? "application/octet-stream",
		hash: sha256(content, "base64url"),
		isImmutable,
		content,
		gzip: await promisify(gzip)(content, { level: 9 }),
		brotli: await promisify(brotliCompress)(content, brotliOptions),
	};
}

function sha256(content: Buffer | string, encoding: "base64" | "base64url"): string {
	return createHash("sha256").update(content).digest(encoding);
}

function pagePath(name: string): string {
	return fileURLToPath(new URL(name, pageFolder));
}

function read(name: string): Promise<string> {
	return readFile(new URL(name, pageFolder), "utf8");
}
