/**
 * Loads a board's modules in Node, over fakes of the SDK's modules that record constructors and calls. Module names
 * come from the manifests, as for mcconfig.
 */

import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { build, type Plugin } from "esbuild";
import type { Host } from "../../../device/host.js";
import { isRecord } from "../../../device/protocol/schema.js";
import { isInQemu } from "../../../scripts/boards/build.js";
import { projectFolder } from "../../../scripts/command-line/project.js";
import { natives, sdkFakes } from "./sdk-fakes.js";

/** Calls that the fakes recorded, and their return values. */
export class Bench {
	/** E.g. `embedded:io/digital new {"pin":14}`, `embedded:io/digital write 1`. */
	readonly calls: string[] = [];
	/** Return values of the fakes' methods, by `module method`. An Error is thrown. */
	readonly answers = new Map<string, unknown>();
	/** Return values of foreign functions by name; default: 0. */
	readonly natives: Record<string, unknown> = {};
	/** Methods that throw, by `module method`. */
	readonly failing = new Set<string>();
	/** Instances by module. */
	readonly made = new Map<string, unknown[]>();
	readonly config: Record<string, string> = {};
	/** Stored settings. A number is a value of the wrong type. */
	readonly stored = new Map<string, string | number>();
	/** Options of the HTTP requests. */
	readonly requests: object[] = [];
	/** Unread bytes of a socket. */
	readonly incoming: number[] = [];
	/** Pending timers. */
	readonly timers: (() => void)[] = [];
	readonly traced: string[] = [];

	call(module: string, method: string, ...values: unknown[]): void {
		this.calls.push([module, method, ...values.map((value) => JSON.stringify(value))].join(" "));
		if (this.failing.has(`${module} ${method}`)) throw new Error(`${module} ${method} failed`);
	}

	answer(module: string, method: string): unknown {
		const answer = this.answers.get(`${module} ${method}`);
		if (answer instanceof Error) throw answer;
		return answer;
	}

	/** Options of the latest instance. */
	optionsOf(module: string): Readonly<Record<string, unknown>> {
		const options: unknown = Reflect.get(Object(this.made.get(module)?.at(-1)), "options");
		if (!isRecord(options)) throw new Error(`no ${module} was made with options`);
		return options;
	}

	keep(module: string, instance: unknown): void {
		this.made.set(module, [...(this.made.get(module) ?? []), instance]);
	}

	runTimers(): void {
		for (const timer of this.timers.splice(0)) timer();
	}

	forget(): void {
		this.calls.length = 0;
	}
}

/**
 * Loads a board's provider, the global `device` on a board. Its parts write to the bench.
 *
 * @param folder under hosts/
 */
export async function loadBoard(folder: string, bench: Bench): Promise<Host> {
	const exports = await load(`${folder}/host/provider.ts`, bench);
	const { default: device } = exports;
	if (!isHost(device)) throw new Error("the provider exports no host");
	return device;
}

/** Loads one module of the boards. */
export async function load(file: string, bench: Bench): Promise<Readonly<Record<string, unknown>>> {
	const bundle = await build({
		entryPoints: [join(projectFolder, "hosts", file)],
		bundle: true,
		format: "iife",
		globalName: "board",
		write: false,
		target: "es2022",
		plugins: [boardModules(file.split("/host/")[0] ?? "")],
	});
	const code = bundle.outputFiles[0]?.text ?? "";
	const xs = `const natives = ${natives}; const native = (name) => natives[name]; const Native = () => Object;`;
	const run = new Function("bench", "trace", `${xs}\n${code}\nreturn board;`);
	const exports: unknown = run(bench, (text: string) => bench.traced.push(text));
	if (!isRecord(exports)) throw new Error(`${file} exports nothing`);
	return exports;
}

/** Modules provided by the hosts, the SDK's or this project's. */
const ours = /^((board|protocol|qemu|tls)\/|embedded:io\/socket\/tcp$)/;

function boardModules(board: string): Plugin {
	const manifests = [
		"esp32/common",
		"esp32/manifest",
		"esp32/tcp/manifest",
		"esp32/touch/manifest",
		"moddable/tls/manifest",
	].map((name) => `${name}.json`);
	if (isInQemu(board)) manifests.push(`${basename(board)}/manifest.json`, "qemu/manifest.json");
	if (!board.endsWith(".ts")) manifests.push(`${board}/manifest.json`);
	const files = new Map<string, string>();
	for (const manifest of manifests) {
		const path = join(projectFolder, "hosts", manifest);
		const { modules }: { modules: Record<string, unknown> } = JSON.parse(readFileSync(path, "utf8"));
		for (const [name, file] of Object.entries(modules))
			if (ours.test(name) && typeof file === "string") files.set(name, join(dirname(path), `${file}.ts`));
	}
	return {
		name: "board-modules",
		setup({ onResolve, onLoad }) {
			onResolve({ filter: ours }, ({ path }) => ({
				path:
					files.get(path) ??
					(path.startsWith("protocol/")
						? join(projectFolder, "device", `${path}.ts`)
						: `${path} is in no manifest`),
			}));
			onResolve({ filter: /^moddable\// }, ({ path }) => ({
				path: join(projectFolder, "hosts", `${path}.ts`),
			}));
			onResolve({ filter: /^[a-z\d]+(:|\/|$)/ }, ({ path }) =>
				sdkFakes.has(path) ? { path, namespace: "sdk" } : undefined,
			);
			onLoad({ filter: /.*/, namespace: "sdk" }, ({ path }) => ({ contents: sdkFakes.get(path) ?? "" }));
		},
	};
}

function isHost(value: unknown): value is Host {
	return (
		isRecord(value) &&
		isRecord(value.peripheral) &&
		isRecord(value.network) &&
		typeof value.system === "function"
	);
}
