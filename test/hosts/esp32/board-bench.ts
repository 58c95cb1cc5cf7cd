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

/** Calls that the fakes recorded, and their return values. */
export class Bench {
	/** E.g. `embedded:io/digital new {"pin":14}`, `embedded:io/digital write 1`. */
	readonly calls: string[] = [];
	/** Return values of the fakes' methods, or functions, by `module method`. An Error is thrown. */
	readonly answers = new Map<string, unknown>();
	/** Values of the fakes' properties by `module property`. */
	readonly values = new Map<string, unknown>();
	/** Return values of foreign functions by name, or functions; default: 0. */
	readonly natives: Record<string, unknown> = {};
	/** Arguments of the latest constructor call by module. */
	readonly made = new Map<string, readonly unknown[]>();
	/** Pending timers. */
	readonly timers: (() => void)[] = [];
	readonly traced: string[] = [];

	/** Options of the latest instance. */
	optionsOf(module: string): Readonly<Record<string, unknown>> {
		const [options] = this.made.get(module) ?? [];
		if (!isRecord(options)) throw new Error(`no ${module} was made with options`);
		return options;
	}

	runTimers(): void {
		for (const timer of this.timers.splice(0)) timer();
	}

	forget(): void {
		this.calls.length = 0;
	}

	/** Default export of a module of the SDK: a class that has each static and other method that is called. */
	fake(module: string): unknown {
		if (module === "timer") return this.#timer();
		const bench = this;
		class Fake {
			constructor(...values: unknown[]) {
				bench.made.set(module, values);
				bench.#call(module, "new", values.slice(0, 1));
			}
		}
		const methods = (target: object, other: () => unknown) =>
			new Proxy(target, {
				get: (_, name) => {
					if (typeof name === "symbol" || name in target || name === "toJSON")
						return Reflect.get(target, name);
					if (bench.values.has(`${module} ${name}`)) return bench.values.get(`${module} ${name}`);
					return (...values: unknown[]) => bench.#call(module, name, values) ?? other();
				},
			});
		Object.setPrototypeOf(
			Fake.prototype,
			methods(Object.prototype, () => undefined),
		);
		return Object.setPrototypeOf(
			Fake,
			methods(Function.prototype, () => Object.create(Fake.prototype)),
		);
	}

	#call(module: string, method: string, values: readonly unknown[]): unknown {
		if (module === "mc/ffi") {
			const answer = this.natives[method] ?? 0;
			return typeof answer === "function" ? answer(...values) : answer;
		}
		this.calls.push([module, method, ...values.map((value) => JSON.stringify(value))].join(" "));
		const answer = this.answers.get(`${module} ${method}`);
		if (answer instanceof Error) throw answer;
		return typeof answer === "function" ? answer(...values) : answer;
	}

	#timer() {
		const { timers } = this;
		const set = (callback: () => void) => {
			timers.push(callback);
			return callback;
		};
		const clear = (timer: () => void) => {
			if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1);
		};
		return { set, repeat: set, clear };
	}
}

/**
 * Loads a board's provider, the global `device` on a board. Its parts write to the bench.
 *
 * @param folder under hosts/
 */
export async function loadBoard(folder: string, bench: Bench): Promise<Host> {
	const { default: device } = await load(`${folder}/host/provider.ts`, bench);
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
	const xs = "const Native = () => Object;";
	const run = new Function("bench", "trace", `${xs}\n${bundle.outputFiles[0]?.text}\nreturn board;`);
	const exports: unknown = run(bench, (text: string) => bench.traced.push(text));
	if (!isRecord(exports)) throw new Error(`${file} exports nothing`);
	return exports;
}

/** Modules provided by the hosts; all others are the SDK's. */
const ours = /^((board|protocol|qemu|tls|update)\/|embedded:io\/socket\/tcp$)/;

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
				path: files.get(path) ?? join(projectFolder, "device", `${path}.ts`),
			}));
			onResolve({ filter: /^moddable\// }, ({ path }) => ({
				path: join(projectFolder, "hosts", `${path}.ts`),
			}));
			onResolve({ filter: /^[a-z\d]+(:|\/|$)/ }, ({ path, kind }) =>
				kind === "entry-point" ? undefined : { path, namespace: "sdk" },
			);
			onLoad({ filter: /.*/, namespace: "sdk" }, ({ path }) => ({
				contents: `const fake = bench.fake("${path}"); export default fake; export { fake as Digest };`,
			}));
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
