/** Parses settings on a command line, written as `name=value`, `--name value` or `--name=value`. */

import { parseArgs } from "node:util";
import { trimmedSetting } from "../../hosts/esp32/nvs-settings.js";
import type { Problems } from "./problems.js";

export interface SettingWordsOptions<Name extends string, Flag extends string> {
	readonly words: readonly string[];
	readonly names: readonly Name[];
	/** Flags, accepted with or without dashes. */
	readonly flags: readonly Flag[];
	/** Position of the first word for errors; default: 1. */
	readonly position?: number;
}

export interface SettingWords<Name extends string, Flag extends string> {
	readonly values: { readonly [N in Name]?: string };
	readonly flags: readonly Flag[];
}

/** @param problems collects a message for each unknown word */
export function parseSettingWords<Name extends string, Flag extends string>(
	{ words, names, flags, position = 1 }: SettingWordsOptions<Name, Flag>,
	problems: Problems,
): SettingWords<Name, Flag> {
	const { tokens } = parseArgs({
		args: words.map((word) => (names.some((name) => word.startsWith(`${name}=`)) ? `--${word}` : word)),
		options: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
		strict: false,
		tokens: true,
	});
	const known = `Available: ${[...names.map((name) => `${name}=`), ...flags].join(", ")}. Quote values with spaces.`;
	const values: { [N in Name]?: string } = {};
	const found: Flag[] = [];
	for (const token of tokens) {
		const text = token.kind === "option" ? token.name : token.kind === "positional" ? token.value : "";
		const flag = flags.find((known) => known === text);
		const name = token.kind === "option" ? names.find((known) => known === text) : undefined;
		if (flag) found.push(flag);
		else if (name && token.kind === "option" && token.value !== undefined)
			Object.assign(values, { [name]: trimmedSetting(name, token.value) });
		else if (name) problems.add(`${name}= has no value.`);
		// The word is not printed, since it may be a part of a password.
		else problems.add(`Unknown argument ${token.index + position}. ${known}`);
	}
	return { values, flags: found };
}
