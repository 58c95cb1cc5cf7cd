/**
 * Parses the command line of a command for a device: a model, flags, and settings, written as `name=value`, `--name value` or
 * `--name=value`.
 */

import { parseArgs } from "node:util";
import type { Model } from "../../device/protocol/schema.js";
import { trimmedSetting } from "../../hosts/esp32/nvs-settings.js";
import { anyVersionFlag } from "../moddable/sdk.js";
import { UsageError } from "./command.js";
import { findModel, modelNames } from "./device-settings.js";
import { Problems } from "./problems.js";

interface KnownWords<Name extends string> {
	readonly names: readonly Name[];
	/** Flags, accepted with or without dashes. */
	readonly flags: readonly string[];
}

interface DeviceWords<Name extends string> {
	readonly values: { readonly [N in Name]?: string };
	readonly flags: readonly string[];
}

/** @param read converts the words, and collects further problems @throws UsageError with all problems */
export function readDeviceWords<Name extends string, T>(
	[first, ...words]: readonly string[],
	{ names, flags }: KnownWords<Name>,
	read: (words: DeviceWords<Name>, problems: Problems) => T,
): T & { readonly model: Model; readonly isAnyVersion: boolean } {
	const problems = new Problems();
	const model = findModel(first);
	const list = modelNames.join(" or ");
	const isOther = first !== undefined && !first.includes("=");
	if (!model) problems.add(`Specify the model first: ${list}${isOther ? `, not ${first}` : ""}.`);
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
	const result = read({ values, flags: found }, problems);
	if (problems.areFound || !model) throw problems.asError(UsageError);
	return { ...result, model, isAnyVersion: found.includes(anyVersionFlag) };
}
