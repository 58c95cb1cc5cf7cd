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

/** A variable whose text has a default. */
export interface ParsedVariable<T> extends Variable {
	/** Returns undefined if the text is invalid. */
	readonly parse: (text: string) => T | undefined;
	/** Expected form: completes "Set it to …". */
	readonly form: string;
	readonly defaultText: string;
}

/** Defines a setting of one variable. */
export function parsed<T>(
	name: string,
	{ parse, form, defaultText, ...variable }: ParsedVariable<T>,
): Setting<T> {
	const shown = defaultText === "" ? {} : { byDefault: `\`${defaultText}\`` };
	return {
		variables: { [name]: { ...shown, ...variable } },
		read: (environment) => {
			const text = given(environment, name) ?? defaultText;
			const value = parse(text);
			if (value !== undefined) return value;
			throw new StartError(`${name} is "${text}"; set it to ${form}.`);
		},
	};
}

/** Defines a setting that is `on` by default, and `off` otherwise. */
export function switched(name: string, description: string): Setting<boolean> {
	const parse = (text: string) => (text === "on" || text === "off" ? text === "on" : undefined);
	return parsed(name, { description, defaultText: "on", parse, form: "on or off" });
}

/** Defines a setting that is a text, or undefined. */
export function optionalText(name: string, description: string): Setting<string | undefined> {
	return { variables: { [name]: { description } }, read: (environment) => given(environment, name) };
}

/**
 * Reads a variable without surrounding space, line breaks and byte order marks. @returns undefined if it is unset or blank
 * @throws {StartError} if the value is in quotes
 */
export function given(environment: Environment, name: string): string | undefined {
	const text = trimmed(environment, name);
	// Docker's --env-file, for instance, keeps them: a folder would have them in its name.
	if (/^(["']).*\1$/s.test(text ?? ""))
		throw new StartError(`${name} is in quotes; set it to the same without them.`);
	return text;
}

/** Reads a variable as `given` does, but accepts quotes. */
export function trimmed(environment: Environment, name: string): string | undefined {
	return environment[name]?.trim() || undefined;
}

/** @throws {StartError} if one of these variables is set although the main one is not */
export function refuseWithout(environment: Environment, main: string, others: readonly string[]): void {
	const stray = others.find((name) => given(environment, name) !== undefined);
	if (stray !== undefined) throw new StartError(`${stray} requires ${main}; set that too, or leave it out.`);
}

/** @param what the file should be @returns undefined if the variable is not set @throws {StartError} */
export function contentOf(environment: Environment, name: string, what: string): Buffer | undefined {
	const path = given(environment, name);
	if (path === undefined) return undefined;
	try {
		requireRegularFile(statSync(path), path);
		return readFileSync(path);
	} catch (error) {
		throw new StartError(
			`${name} is "${path}", which cannot be read (${errorCode(error)}); set it to ${what}.`,
		);
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
		const whole = percentDecoded(part);
		if (whole !== undefined) return whole || undefined;
		throw new StartError(`${name} has a % in its user name or password that is not written %25; correct it.`);
	};
	return { url, username: decoded(url.username), password: decoded(url.password) };
}
