/** Parses settings on a command line, written as `name=value`, `--name value` or `--name=value`. */

import { parseArgs } from "node:util";
import { trimmedSetting } from "../../hosts/esp32/nvs-settings.js";
import { anyVersionFlag } from "../moddable/sdk.js";
import { findModel, modelNames } from "./device-settings.js";
import type { Problems } from "./problems.js";

/** Arguments of a command. */
interface KnownWords<Name extends string = string> {
	readonly names: readonly Name[];
	/** Flags, accepted with or without dashes. */
	readonly flags: readonly string[];
}

function parseSettingWords<Name extends string>(
	words: readonly string[],
	{ names, flags }: KnownWords<Name>,
	problems: Problems,
) {
	const { tokens } = parseArgs({
		args: words.map((word) => (names.some((name) => word.startsWith(`${name}=`)) ? `--${word}` : word)),
		options: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
		strict: false,
		tokens: true,
	});
	const known = `Available: ${[...names.map((name) => `${name}=`), ...flags].join(", ")}. Quote values with spaces.`;
	const values: { [N in Name]?: string } = {};
	const found: string[] = [];
	for (const token of tokens) {
		const text = token.kind === "option" ? token.name : token.kind === "positional" ? token.value : "";
		const name = token.kind === "option" ? names.find((known) => known === text) : undefined;
		if (flags.includes(text)) found.push(text);
		else if (name && token.kind === "option") {
			const value = token.value && trimmedSetting(name, token.value);
			// An open network has no password.
			if (value || (value === "" && name.startsWith("password"))) Object.assign(values, { [name]: value });
			else problems.add(`${name}= has no value.`);
		}
		// The word is not printed, since it may be a part of a password.
		else problems.add(`Unknown argument ${token.index + 2}. ${known}`);
	}
	return { values, flags: found, isAnyVersion: found.includes(anyVersionFlag) };
}

/** Parses a model followed by settings and flags. @param problems collects a message for a missing model and for each unknown word */
export function parseDeviceWords<Name extends string>(
	[first, ...words]: readonly string[],
	known: KnownWords<Name>,
	problems: Problems,
) {
	const model = findModel(first);
	const list = modelNames.join(" or ");
	const isOther = first !== undefined && !first.includes("=");
	if (!model) problems.add(`Specify the model first: ${list}${isOther ? `, not ${first}` : ""}.`);
	return { model, ...parseSettingWords(words, known, problems) };
}
