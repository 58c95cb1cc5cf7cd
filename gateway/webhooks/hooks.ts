/** Parses WEBHOOKS_FILE: receivers with their events and secrets. */

import { messageOf } from "../../device/message-of.js";
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
	string,
} from "../../device/protocol/schema.js";
import { parseUrl } from "../access/origin.js";
import { parseJson } from "../api/json.js";
import { maxExpressionLength, parseTags, type TagExpression } from "../api/tags.js";
import { webhookEvents } from "../api/webhook.js";
import { idOf } from "../digest.js";
import { StartError } from "../problem.js";
import { readFileOf } from "../setting.js";
import { isUsable } from "./signature.js";

const secret = pattern(512, "^[\\x21-\\x7e]{16,}$", "at least 16 printable ASCII characters without spaces,");
const address = "an address that begins with http:// or https://, without a password,";
const hook = object({
	url: pattern(2000, "^https?://[^\\s@]+$", address),
	/** Default: all. */
	events: optional(list(oneOf(...webhookEvents), webhookEvents.length)),
	/** Tag expression that selects the devices. Default: all. */
	tags: optional(string(maxExpressionLength)),
	secret,
	/** Signs too while the secret is being replaced. */
	previousSecret: optional(secret),
	/** Minutes until an offline device counts as away. */
	after: optional(integer(1, 10_080)),
});
const awayMinutes = 5;
const keyAdvice =
	"begins with whsec_, so the rest must be the base64 of 24 to 64 bytes, as `openssl rand -base64 32` prints it";
const example =
	'[{"url": "https://example.org/hook", "secret": "whsec_…", "events": ["away", "back"], "after": 5}]';

export interface Hook extends Required<Omit<Infer<typeof hook>, "tags" | "secret" | "previousSecret">> {
	/** Derived from the URL. */
	readonly id: string;
	/** Newest first; two during a replacement. */
	readonly secrets: readonly string[];
	/** Tag expression as text and parsed; absent: all devices. */
	readonly tags?: { readonly text: string; readonly expression: TagExpression };
}

/** @throws {StartError} with the problem, without secrets */
export function readHooks(path: string): readonly Hook[] {
	const rejection = (what: string) =>
		new StartError(`WEBHOOKS_FILE is "${path}", which ${what}; set it to a JSON file such as ${example}.`);
	const file = readFileOf({ WEBHOOKS_FILE: path }, "WEBHOOKS_FILE", `a JSON file such as ${example}`);
	const entries = parseJson(String(file).trim());
	if (!Array.isArray(entries)) throw rejection("is not a JSON list");
	const ids = new Set<string>();
	return entries.map((entry: unknown, index) => {
		const unknown = Object.keys(isRecord(entry) ? entry : {}).find(
			(name) => !Object.hasOwn(hook.fields, name),
		);
		if (unknown !== undefined) throw rejection(`has an unknown field "${unknown}" in ${index + 1}`);
		if (!matches(hook, entry))
			throw rejection(`is wrong in ${index + 1}: ${describeProblem(findProblem(hook, entry))}`);
		const { url, events = webhookEvents, tags: text, secret, previousSecret, after = awayMinutes } = entry;
		if (!parseUrl(url)) throw rejection(`is wrong in ${index + 1}: url is not an address`);
		for (const [name, key] of Object.entries({ secret, previousSecret }))
			if (key !== undefined && !isUsable(key))
				throw rejection(`is wrong in ${index + 1}: ${name} ${keyAdvice}`);
		const tags = text !== undefined && { text, expression: readTags(text, index, rejection) };
		const id = idOf(url);
		if (ids.has(id)) throw rejection(`names the address of ${index + 1} twice`);
		ids.add(id);
		const secrets = previousSecret === undefined ? [secret] : [secret, previousSecret];
		return { id, url, events: [...events], secrets, after, ...(tags && { tags }) };
	});
}

function readTags(text: string, index: number, rejection: (what: string) => StartError): TagExpression {
	try {
		return parseTags(text);
	} catch (error) {
		throw rejection(`is wrong in ${index + 1}: tags: ${messageOf(error).replace(/\.$/, "")}`);
	}
}
