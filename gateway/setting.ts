/**
 * A setting is read from one or several variables of the environment. README.md and `npm start -- --help` are generated from the same
 * definition.
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
	/** Markdown; none by default. */
	readonly byDefault?: string;
}

export interface Setting<T> {
	/** By name. */
	readonly variables: Readonly<Record<string, Variable>>;
	/** @throws {StartError} if a value cannot be used */
	readonly read: (environment: Environment) => T;
}

/** A variable whose text has a default. */
export interface ParsedVariable<T> extends Variable {
	/** Undefined: the text cannot be used. */
	readonly parse: (text: string) => T | undefined;
	/** Completes "set it to …". */
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
 * A blank variable counts as unset. Space, line breaks and byte order marks around a value are dropped: they come from files.
 * @throws {StartError} if it is in quotes
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
 * @param protocols such as `["nats:", "tls:"]` @returns undefined if it is no address of these
 * @throws {StartError} if its user name or password is not encoded; neither is shown
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
