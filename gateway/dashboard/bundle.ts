/**
 * Bundles the page from page/ with esbuild, in memory, on the first request. A separate build step could be
 * forgotten and an outdated page served.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { type BuildOptions, build, type Plugin } from "esbuild";

export interface Asset {
	/** URL path relative to the page. */
	readonly name: string;
	readonly type: string;
	/** Hash of the content, part of its ETag. */
	readonly hash: string;
	/** Whether its name contains a hash of its content, so it can be cached without limit. */
	readonly isImmutable: boolean;
	/** Sources of inline content for the content security policy, by directive. */
	readonly inline?: Readonly<Record<"script-src" | "style-src", string>>;
	readonly content: Buffer;
	readonly gzip: Buffer;
	readonly brotli: Buffer;
}

export interface Bundle {
	/** Assets by name; the page itself is "". */
	readonly assets: ReadonlyMap<string, Asset>;
	/** Template for access/login.ts. */
	readonly loginPage: string;
}

const pageFolder = new URL("page/", import.meta.url);
/** Virtual output folder; nothing is written to it. */
const builtFolder = resolve("built");
const types: Readonly<Record<string, string>> = {
	html: "text/html; charset=utf-8",
	js: "text/javascript; charset=utf-8",
	css: "text/css; charset=utf-8",
	svg: "image/svg+xml",
	png: "image/png",
	webmanifest: "application/manifest+json",
};
/** Files of the page that are served as they are. */
export const plainFiles = ["icon.svg", "icon.png", "manifest.webmanifest"] as const;

/** Loads an SVG of lucide-static as the elements that parts/icon.tsx renders: [tag, attributes][]. */
const icons: Plugin = {
	name: "icons",
	setup({ onLoad }) {
		onLoad({ filter: /\.svg$/ }, async ({ path }) => {
			const svg = await readFile(path, "utf8");
			const elements = Array.from(svg.matchAll(/<(\w+) ([^<>]*)\/>/g), ([, tag, attributes = ""]) => [
				tag,
				Object.fromEntries(
					Array.from(attributes.matchAll(/([\w-]+)="([^"]*)"/g), ([, name, value]) => [name, value]),
				),
			]);
			return { contents: JSON.stringify(elements), loader: "json" };
		});
	},
};

/** Bundles a style sheet that is imported as text, with `?text` at the end of its path. */
const styleTexts: Plugin = {
	name: "style texts",
	setup({ onResolve, onLoad }) {
		onResolve({ filter: /\.css\?text$/ }, ({ path, resolveDir }) => ({
			path: resolve(resolveDir, path.replace("?text", "")),
			namespace: "style-text",
		}));
		onLoad({ filter: /./, namespace: "style-text" }, async ({ path }) => {
			const { outputFiles } = await build({ ...withoutPlugins, entryPoints: [path] });
			return { contents: outputFiles[0]?.text ?? "", loader: "text" };
		});
	},
};

const withoutPlugins = {
	bundle: true,
	minify: true,
	write: false,
	target: "es2022",
	legalComments: "none",
	logLevel: "silent",
} as const satisfies BuildOptions;
const common = { ...withoutPlugins, plugins: [icons, styleTexts] } satisfies BuildOptions;

/** Bundles by entry file, shared by all gateways of a process. */
const bundles = new Map<string, Promise<Bundle>>();

/**
 * Bundles a page once. After a failure, the next call retries, as a package may be being installed.
 * @param entry entry file of the page
 * @throws {Error} with esbuild's message, file and line if the page does not compile
 */
export function bundlePage(entry = pagePath("main.tsx")): Promise<Bundle> {
	const known = bundles.get(entry);
	if (known) return known;
	const bundle = makeBundle(entry);
	bundles.set(entry, bundle);
	bundle.catch(() => bundles.delete(entry));
	return bundle;
}

async function makeBundle(entry: string): Promise<Bundle> {
	const { outputFiles } = await build({
		...common,
		entryPoints: [entry],
		format: "esm",
		jsx: "automatic",
		jsxImportSource: "preact",
		outdir: builtFolder,
		entryNames: "page",
		chunkNames: "assets/[name]-[hash]",
		splitting: true,
	});
	const early = await build({ ...common, entryPoints: [pagePath("early.ts")], format: "iife" });
	const built = new Map(
		outputFiles.map(({ path, contents }) => [
			relative(builtFolder, path).replaceAll(sep, "/"),
			Buffer.from(contents),
		]),
	);
	// Inlined, as on a slow connection each request costs more than its bytes.
	const inline = {
		early: early.outputFiles[0]?.text ?? "",
		style: String(built.get("page.css") ?? ""),
		script: String(built.get("page.js") ?? ""),
	};
	for (const name of ["page.css", "page.js"]) built.delete(name);
	// Used by the login page.
	const styleName = `assets/page-${sha256(inline.style, "base64url").slice(0, 8)}.css`;
	built.set(styleName, Buffer.from(inline.style));
	// Otherwise a browser discovers them only after it has loaded the script.
	const preload = [...inline.script.matchAll(/\b(?:from|import)\s*"\.\/(assets\/[\w.-]+\.js)"/g)]
		.map(([, name]) => `<link rel="modulepreload" href="${name}" />`)
		.join("");
	const fill = (html: string) =>
		html
			.replace("%preload%", preload)
			.replace("%styleName%", styleName)
			.replace("%early%", () => `<script>${inline.early}</script>`)
			.replace("%style%", () => `<style>${inline.style}</style>`)
			.replace("%script%", () => `<script type="module">${inline.script}</script>`);
	const index = fill(String(await read("index.html")));
	const loginPage = fill(String(await read("login.html")));
	const assets = await Promise.all([
		...Array.from(built, ([name, content]) => makeAsset(name, content, name.startsWith("assets/"))),
		{
			...(await makeAsset("", Buffer.from(index), false)),
			inline: {
				"script-src": `${source(inline.early)} ${source(inline.script)}`,
				"style-src": source(inline.style),
			},
		},
		...plainFiles.map(async (name) => makeAsset(name, await read(name), false)),
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

function source(text: string): string {
	return `'sha256-${sha256(text, "base64")}'`;
}

function sha256(content: Buffer | string, encoding: "base64" | "base64url"): string {
	return createHash("sha256").update(content).digest(encoding);
}

function pagePath(name: string): string {
	return fileURLToPath(new URL(name, pageFolder));
}

function read(name: string): Promise<Buffer> {
	return readFile(new URL(name, pageFolder));
}
