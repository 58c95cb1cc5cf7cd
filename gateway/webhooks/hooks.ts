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
] as const;
export type EventName = (typeof eventNames)[number];

const hook = object({
	url: pattern(
		2000,
		"^https?://[^\\s@]+$",
		"an address that begins with http:// or https://, without a password,",
	),
	/** Default: all. */
	events: optional(list(oneOf(...eventNames), eventNames.length)),
	secret: pattern(512, "^[\\x21-\\x7e]{16,}$", "16 or more letters, digits or signs without space,"),
	/** Minutes without a device until it is away. */
	after: optional(integer(1, 10_080)),
});
const awayMinutes = 5;

export interface Hook extends Required<Infer<typeof hook>> {
	/** Stays the same while its address does. */
	readonly id: string;
}

/** @throws {StartError} */
export function readHooks(path: string): readonly Hook[] {
	let text: string;
	try {
		requireRegularFile(statSync(path), path);
		text = readFileSync(path, "utf8");
	} catch (error) {
		throw refusalOf(path, `cannot be read (${errorCode(error)})`);
	}
	const value = parseJson(text);
	if (!Array.isArray(value)) throw refusalOf(path, "is not a JSON list");
	const hooks = value.map((entry: unknown, index) => readHook(path, entry, index + 1));
	const repeated = hooks.find(({ id }, index) => hooks.findIndex((other) => other.id === id) < index);
	if (repeated) throw refusalOf(path, `names an address twice (${hooks.indexOf(repeated) + 1})`);
	return hooks;
}

function readHook(path: string, entry: unknown, number: number): Hook {
	const unknown = Object.keys(isRecord(entry) ? entry : {}).find((name) => !(name in hook.fields));
	if (unknown !== undefined) throw refusalOf(path, `has an unknown field "${unknown}" in ${number}`);
	if (!matches(hook, entry))
		throw refusalOf(path, `is wrong in ${number}: ${describeProblem(findProblem(hook, entry))}`);
	const { url, events = eventNames, secret, after = awayMinutes } = entry;
	if (!parseUrl(url)) throw refusalOf(path, `is wrong in ${number}: url is not an address`);
	return {
		id: createHash("sha256").update(url).digest("hex").slice(0, 16),
		url,
		events: [...events],
		secret,
		after,
	};
}

function refusalOf(path: string, what: string): StartError {
	const example =
		'[{"url": "https://example.org/hook", "secret": "…", "events": ["away", "back"], "after": 5}]';
	return new StartError(
		`WEBHOOKS_FILE is "${path}", which ${what}; set it to a JSON file such as ${example}.`,
	);
}
