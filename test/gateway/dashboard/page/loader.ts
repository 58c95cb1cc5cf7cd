/** Module hooks that load the page's sources in Node: JSX as its tsconfig.json says, icons and style sheets without content. */

import { readFile } from "node:fs/promises";
import type { LoadHook } from "node:module";
import { transform } from "esbuild";

const tsconfig = new URL("../../../../gateway/dashboard/page/tsconfig.json", import.meta.url);

export const load: LoadHook = async (url, context, nextLoad) => {
	const { pathname } = new URL(url);
	if (pathname.endsWith(".svg")) return moduleOf("export default [];");
	if (/\.css$|\/later-styles\.[jt]s$/.test(pathname)) return moduleOf("");
	if (!pathname.endsWith(".tsx")) return nextLoad(url, context);
	const options = { loader: "tsx", target: "es2022", sourcemap: "inline", sourcefile: url } as const;
	const tsconfigRaw = await readFile(tsconfig, "utf8");
	const { code } = await transform(await readFile(new URL(url), "utf8"), { ...options, tsconfigRaw });
	return moduleOf(code);
};

function moduleOf(source: string) {
	return { format: "module", source, shortCircuit: true };
}
