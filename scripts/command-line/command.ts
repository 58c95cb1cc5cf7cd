/** Runs an npm command: prints its usage for --help, and readable errors. */

import { type ParseArgsConfig, parseArgs } from "node:util";
import { messageOf } from "../../device/message-of.js";
import { printable, printableLines } from "../../gateway/telemetry/printable.js";

/** Options of npm itself, which may also come from an .npmrc. */
const npmOptions: readonly string[] = ["ca", "json", "password", "token", "version", "yes"];

/** Invalid command line. */
export class UsageError extends Error {
	override readonly name = "UsageError";
}

interface Help {
	/** Name of the script in package.json. */
	readonly name: string;
	/** Help text that begins with "Usage:". */
	readonly usage: string;
}

type Options = NonNullable<ParseArgsConfig["options"]>;
/** Values of options, and other arguments. */
export type Arguments<O extends Options = Options> = ReturnType<typeof parse<O>>;

interface Command<O extends Options> extends Help {
	readonly options: O;
	/** Default: false. */
	readonly allowPositionals?: boolean;
	readonly run: (parsed: Arguments<O>) => Promise<void> | void;
}

/** Runs a command. Errors set exit code 1; only internal errors are printed with a stack trace. */
export function runCommand<const O extends Options>({
	options,
	allowPositionals = false,
	run,
	...help
}: Command<O>): Promise<void> {
	const names = Object.keys(options);
	return runWords({
		...help,
		known: { names, flags: [] },
		run: (words) => run(parse(words, options, allowPositionals)),
	});
}

function parse<O extends Options>(words: readonly string[], options: O, allowPositionals: boolean) {
	const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals });
	return { values, positionals: [...positionals] satisfies string[] };
}

interface WordsCommand extends Help {
	/** Options without dashes. */
	readonly known: { readonly names: readonly string[]; readonly flags: readonly string[] };
	readonly run: (words: readonly string[]) => Promise<void> | void;
}

/** Runs a command that parses its words itself, like `runCommand`. */
export async function runWords({ name, usage, known, run }: WordsCommand): Promise<void> {
	const words = process.argv.slice(2);
	if (words.includes("--help") || words.includes("-h")) return console.log(usage);
	try {
		rejectNpmOptions(name, [...known.names, ...known.flags]);
		await run(words);
	} catch (error) {
		process.exitCode = 1;
		if (isUsageError(error)) console.error(`${printableLines(error.message)}\n\n${usage}`);
		else console.error(isDefect(error) ? error : printableLines(messageOf(error)));
	}
}

/** Prints one line with control characters escaped, since it may contain data of a device or gateway. */
export function print(line: string): void {
	console.log(printable(line));
}

/** Parses an integer option. @param option name with dashes @throws UsageError */
export function wholeNumber(option: string, text: string, least: number, most: number): number {
	const number = Number(text);
	if (text !== "" && Number.isInteger(number) && number >= least && number <= most) return number;
	throw new UsageError(`${option} must be a whole number from ${least} to ${most}.`);
}

/** Returns the only argument that is not an option. @param message error for none or several @throws UsageError */
export function onlyArgument(positionals: readonly string[], message: string): string {
	const [word] = positionals;
	if (word === undefined || positionals.length > 1) throw new UsageError(message);
	return word;
}

/** Detects options that npm consumed because of a missing `--`; it sets npm_config_<name>. @throws UsageError */
function rejectNpmOptions(name: string, options: readonly string[]): void {
	if (process.env.npm_lifecycle_event !== name) return;
	const option = options
		.filter((option) => !npmOptions.includes(option))
		.find((option) => process.env[`npm_config_${option.replaceAll("-", "_")}`] !== undefined);
	if (option)
		throw new UsageError(
			`npm consumed --${option}. Write -- before the arguments: npm run ${name} -- --${option} …`,
		);
}

function isUsageError(error: unknown): error is Error {
	if (!(error instanceof Error)) return false;
	return error instanceof UsageError || ("code" in error && String(error.code).startsWith("ERR_PARSE_ARGS"));
}

/** Whether an error is a bug: one of the JavaScript engine. */
function isDefect(error: unknown): boolean {
	return (
		!(error instanceof Error) || [TypeError, RangeError, ReferenceError].some((type) => error instanceof type)
	);
}
