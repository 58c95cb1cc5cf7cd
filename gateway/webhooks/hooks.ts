/** Reads WEBHOOKS_FILE: the receivers, the events that each gets, and its secret. */

import { createHash } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import {
	describeProblem,
	findProblem,
	type Infer,
	integer,
	isRecord,
	list,
	matches,
	object,
	oneOf,
	optional,
	pattern,
} from "../../device/protocol/schema.js";
import { parseUrl } from "../access/origin.js";
import { parseJson } from "../json.js";
import { errorCode, StartError } from "../problem.js";
import { requireRegularFile } from "../storage/atomic-file.js";

export const eventNames = [
	"away",
	"back",
	"crashed",
	"rolled_back",
	"rollout_paused",
	"rollout_finished",
	"refused",
	"disk_full",
	"schedule_failed",
] as const;
export type EventName = (typeof eventNames)[number];

const address = "an address that begins with http:// or https://, without a password,";
const hook = object({
	url: pattern(2000, "^https?://[^\\s@]+$", address),
	/** Default: all. */
	events: optional(list(oneOf(...eventNames), eventNames.length)),
	secret: pattern(512, "^[\\x21-\\x7e]{16,}$", "16 or more letters, digits or signs without space,"),
	/** Minutes without a device until it is away. */
	after: optional(integer(1, 10_080)),
});
const awayMinutes = 5;
const example =
	'[{"url": "https://example.org/hook", "secret": "…", "events": ["away", "back"], "after": 5}]';

export interface Hook extends Required<Infer<typeof hook>> {
	/** Stays the same while its address does. */
	readonly id: string;
}

/** @throws {StartError} that names what to change, without a secret */
export function readHooks(path: string): readonly Hook[] {
	const refusal = (what: string) =>
		new StartError(`WEBHOOKS_FILE is "${path}", which ${what}; set it to a JSON file such as ${example}.`);
	const entries = parseJson(readText(path, refusal));
	if (!Array.isArray(entries)) throw refusal("is not a JSON list");
	const ids = new Set<string>();
	return entries.map((entry: unknown, index) => {
		const unknown = Object.keys(isRecord(entry) ? entry : {}).find(
			(name) => !Object.hasOwn(hook.fields, name),
		);
		if (unknown !== undefined) throw refusal(`has an unknown field "${unknown}" in ${index + 1}`);
		if (!matches(hook, entry))
			throw refusal(`is wrong in ${index + 1}: ${describeProblem(findProblem(hook, entry))}`);
		const { url, events = eventNames, secret, after = awayMinutes } = entry;
		if (!parseUrl(url)) throw refusal(`is wrong in ${index + 1}: url is not an address`);
		const id = createHash("sha256").update(url).digest("hex").slice(0, 16);
		if (ids.has(id)) throw refusal(`names the address of ${index + 1} twice`);
		ids.add(id);
		return { id, url, events: [...events], secret, after };
	});
}

function readText(path: string, refusal: (what: string) => StartError): string {
	try {
		requireRegularFile(statSync(path), path);
		return readFileSync(path, "utf8");
	} catch (error) {
		throw refusal(`cannot be read (${errorCode(error)})`);
	}
}
