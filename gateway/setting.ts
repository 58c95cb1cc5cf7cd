/**
 * Definitions of settings, each read from one or more environment variables. README.md and `npm start -- --help` are
 * generated from them.
 */

import { readFileSync, statSync } from "node:fs";
import { parseUrl } from "./access/origin.js";
import { percentDecoded } from "./api/text.js";
import { errorCode, StartError } from "./problem.js";
import { requireRegularFile } from "./storage/atomic-file.js";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Variable {
	/** Markdown, without a period at its end. */
	readonly description: string;
	/** Markdown; absent without a default. */
	readonly byDefault?: string;
}

export interface Setting<T> {
	/** Environment variables, by name. */
	readonly variables: Readonly<Record<string, Variable>>;
	/** @throws {StartError} if a value is invalid */
	readonly read: (environment: Environment) => T;
}

/** Variable with a parser and a default. */
export interface ParsedVariable<T> extends Variable {
	/** Returns undefined if the text is invalid. */
	readonly parse: (text: string) => T | undefined;
	/** Expected form: completes "Set it to …". */
	readonly form: string;
	readonly defaultText: string;
}

/** Defines a setting read from one variable. @param read receives its text; undefined: unset */
export function setting<T>(
	name: string,
	variable: Variable | string,
	read: (text: string | undefined) => T,
): Setting<T> {
	const described = typeof variable === "string" ? { description: variable } : variable;
	return {
		variables: { [name]: described },
		read: (environment) => read(readVariable(environment, name)),
	};
}

/** Defines a setting with a parser and a default. */
export function parsedSetting<T>(
	name: string,
	{ parse, form, defaultText, description }: ParsedVariable<T>,
): Setting<T> {
	const byDefault = defaultText === "" ? {} : { byDefault: `\`${defaultText}\`` };
	return setting(name, { ...byDefault, description }, (text = defaultText) => {
		const value = parse(text);
		if (value !== undefined) return value;
		throw new StartError(`Invalid ${name} "${text}". Set it to ${form}.`);
	});
}

/** Defines a setting that is `on` or `off`; default: `on`. */
export function onOffSetting(name: string, description: string): Setting<boolean> {
	const parse = (text: string) => (text === "on" || text === "off" ? text === "on" : undefined);
	return parsedSetting(name, { description, defaultText: "on", parse, form: "on or off" });
}

/**
 * Reads a variable without surrounding space, line breaks and byte order marks. @returns undefined if it is unset or
 * blank
 * @throws {StartError} if the value is in quotes
 */
export function readVariable(environment: Environment, name: string): string | undefined {
	const text = readUnquoted(environment, name);
	// Docker's --env-file does not remove quotes, so they would become part of a path.
	if (/^(["']).*\1$/s.test(text ?? "")) throw new StartError(`${name} is in quotes. Remove them.`);
	return text;
}

/** Reads a variable as `readVariable` does, but accepts quotes. */
export function readUnquoted(environment: Environment, name: string): string | undefined {
	return environment[name]?.trim() || undefined;
}

/** @throws {StartError} if one of these variables is set although the main one is not */
export function rejectWithout(environment: Environment, main: string, others: readonly string[]): void {
	const stray = others.find((name) => readVariable(environment, name) !== undefined);
	if (stray !== undefined) throw new StartError(`${stray} requires ${main}.`);
}

/**
 * Reads the file named by a variable.
 * @param what expected content
 * @returns undefined if it is unset
 * @throws {StartError}
 */
export function readFileOf(environment: Environment, name: string, what: string): Buffer | undefined {
	const path = readVariable(environment, name);
	if (path === undefined) return undefined;
	try {
		requireRegularFile(statSync(path), path);
		return readFileSync(path);
	} catch (error) {
		throw new StartError(`Cannot read "${path}" (${errorCode(error)}). Set ${name} to ${what}.`);
	}
}

/**
 * Parses the URL of a server with optional credentials.
 * @param protocols such as `["nats:", "tls:"]` @returns undefined if it is not a URL with one of these
 * @throws {StartError} if user name or password are not percent-encoded; the message contains neither
 */
export function serverUrl(name: string, text: string, protocols: readonly string[]) {
	const url = parseUrl(text);
	if (!url || !protocols.includes(url.protocol) || url.host === "") return undefined;
	const decoded = (part: string) => {
		const decodedPart = percentDecoded(part);
		if (decodedPart !== undefined) return decodedPart || undefined;
		throw new StartError(`${name} has an unescaped % in its user name or password. Write it as %25.`);
	};
	return { url, username: decoded(url.username), password: decoded(url.password) };
}
