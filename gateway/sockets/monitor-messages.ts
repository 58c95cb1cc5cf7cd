/**
 * The messages from monitors and their answers: interface specification sections 2.3 and 4.3. Defined once, for the
 * check, the types and the AsyncAPI document.
 */

import {
	describeProblem,
	findProblem,
	type Infer,
	isRecord,
	matches,
	object,
	oneOf,
	optional,
	string,
} from "../../device/protocol/schema.js";
import type { UpdateRefusal } from "../firmware/selection.js";

/** A session's id, or a device's for its latest session. */
const targetId = string(64);
/** Returned unchanged in the answer. */
const requestId = optional(string(64));
/** A command; checked against the target's model. */
const payload = object({});
const version = optional(string(64));

/** By `type`. */
export const monitorMessages = Object.freeze({
	boot_device: object({ type: oneOf("boot_device"), targetId, requestId }),
	control_device: object({ type: oneOf("control_device"), targetId, payload, requestId }),
	trigger_ota: object({ type: oneOf("trigger_ota"), targetId, version, requestId }),
});
export type MonitorMessageType = keyof typeof monitorMessages;
export type MonitorMessageOf<T extends MonitorMessageType> = Infer<(typeof monitorMessages)[T]>;
export type MonitorMessage = { [T in MonitorMessageType]: MonitorMessageOf<T> }[MonitorMessageType];

export type MonitorErrorCode =
	| "invalid_json"
	| "invalid_message"
	| "unknown_type"
	| "unknown_target"
	| "target_offline"
	| "invalid_command"
	| "unsupported_command"
	| UpdateRefusal["code"]
	| "rate_limited";

/** Why a message was not executed; `message` is one sentence that says what to change. */
export interface Refused {
	readonly refusal: { readonly code: MonitorErrorCode; readonly message: string };
}

/** Checks a parsed message; undefined stands for invalid JSON. */
export function checkMonitorMessage(
	value: unknown,
): { readonly message: MonitorMessage; readonly refusal?: undefined } | Refused {
	if (value === undefined) return refuse("invalid_json", "a message must be JSON");
	if (!isRecord(value)) return refuse("invalid_message", "a message must be a JSON object");
	const type = value.type;
	if (typeof type !== "string") return refuse("invalid_message", "type must be a string");
	if (!isMonitorMessageType(type))
		return refuse("unknown_type", `type must be one of ${Object.keys(monitorMessages).join(", ")}`);
	const schema = monitorMessages[type];
	if (matches(schema, value)) return { message: value };
	return refuse("invalid_message", `${type}: ${describeProblem(findProblem(schema, value))}`);
}

/** The message's `requestId`, if it has a valid one. */
export function requestIdOf(value: unknown): string | undefined {
	const id = isRecord(value) ? value.requestId : undefined;
	return matches(requestId, id) ? id : undefined;
}

function isMonitorMessageType(type: string): type is MonitorMessageType {
	return Object.hasOwn(monitorMessages, type);
}

/** @param message one sentence that says what to change */
export function refuse(code: MonitorErrorCode, message: string): Refused {
	return { refusal: { code, message } };
}
