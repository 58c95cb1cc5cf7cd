/**
 * The messages from monitors, defined once for the check, the types and the AsyncAPI document, and their execution:
 * interface specification sections 2.3 and 4.3. Each gets exactly one answer, and a device gets only commands that its
 * model supports.
 */

import type { Logger } from "pino";
import { checkCommand, commands, featureOf, longestCommandBytes } from "../../device/protocol/messages.js";
import {
	boolean,
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
import type { Updates } from "../firmware/updates.js";
import { pick, type Session } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import { closeCodes } from "./limits.js";

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
	/** And `devices`, which `devicesOf` checks: the schemas have no lists. */
	subscribe: object({ type: oneOf("subscribe"), summary: boolean(), requestId }),
});
/** Of one subscription: more than the rows that fit on a large screen. */
export const subscribedDevicesAtMost = 200;
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
	if (type === "subscribe" && !devicesOf(value))
		return refuse(
			"invalid_message",
			`subscribe: devices must be a list of at most ${subscribedDevicesAtMost} device ids`,
		);
	if (matches(schema, value)) return { message: value };
	return refuse("invalid_message", `${type}: ${describeProblem(findProblem(schema, value))}`);
}

/** The message's `requestId`, if it has a valid one. */
export function requestIdOf(value: unknown): string | undefined {
	const id = isRecord(value) ? value.requestId : undefined;
	return matches(requestId, id) ? id : undefined;
}

/** The device ids of a subscription; undefined if they are not valid. */
function devicesOf({ devices = [] }: Readonly<Record<string, unknown>>): readonly string[] | undefined {
	if (!Array.isArray(devices) || devices.length > subscribedDevicesAtMost) return undefined;
	return devices.every((each): each is string => matches(targetId, each)) ? devices : undefined;
}

function isMonitorMessageType(type: string): type is MonitorMessageType {
	return Object.hasOwn(monitorMessages, type);
}

/** @param message one sentence that says what to change */
export function refuse(code: MonitorErrorCode, message: string): Refused {
	return { refusal: { code, message } };
}

/** The session that gets the command, or why none does. */
export type Outcome =
	| { readonly command: MonitorMessageType; readonly sessionId?: string; readonly refusal?: undefined }
	| Refused;

/** Called with what the monitor asks for from now on. Resolves once it was sent what it starts with, or with why not. */
export type Subscribe = (
	summary: boolean,
	devices: readonly string[],
) => Promise<Refused | undefined> | Refused | undefined;

/** The other gateways. */
export interface Others {
	/** Has one of them execute a message for a device that is connected to it. */
	execute(gateway: string, message: MonitorMessage): Promise<Outcome>;
}

/**
 * @returns a function that executes a parsed message; undefined stands for invalid JSON. All but `trigger_ota` is
 * done synchronously, so commands reach a device in order.
 */
export function monitorCommands(
	sessions: Pick<Sessions, "find" | "end">,
	updates: Pick<Updates, "trigger">,
	log: Pick<Logger, "info" | "error">,
	others?: Others,
) {
	/** @param subscribe undefined: another gateway has forwarded the message */
	return async (value: unknown, subscribe?: Subscribe): Promise<Outcome> => {
		const checked = checkMonitorMessage(value);
		if (checked.refusal) return checked;
		const { message } = checked;
		if (message.type === "subscribe") {
			const refused = await subscribe?.(message.summary, devicesOf(message) ?? []);
			return refused ?? { command: message.type };
		}
		const { targetId } = message;
		const session = sessions.find(targetId);
		if (!session)
			return refuse(
				"unknown_target",
				`no session or device is called ${targetId}; take an id from status_update`,
			);
		const { gateway } = session.link;
		if (!session.isReachable || (gateway !== undefined && !subscribe))
			return refuse("target_offline", `${targetId} is not connected; wait for its next status_update`);
		if (gateway !== undefined && others) return others.execute(gateway, message);
		const refused = await carryOut(message, session);
		return refused ?? { command: message.type, sessionId: session.sessionId };
	};

	function carryOut(message: Exclude<MonitorMessage, { type: "subscribe" }>, session: Session) {
		switch (message.type) {
			case "boot_device":
				return sessions.end(session, "boot", { code: closeCodes.normal, reason: "boot" });
			case "control_device":
				return control(session, message.payload);
			case "trigger_ota":
				return update(session, message.version);
		}
	}

	async function update({ device }: Session, version: string | undefined): Promise<Refused | undefined> {
		if (!device)
			return refuse(
				"unknown_target",
				"this session has not sent a state_report yet, so its device has no name; wait for it",
			);
		const { deviceId } = device;
		try {
			const refusal = await updates.trigger(device, version);
			log.info({ deviceId, version, refused: refusal?.code }, "update asked for");
			return refusal && { refusal };
		} catch (error) {
			log.error({ deviceId, version, err: error }, "update could not be started");
			return refuse("no_firmware", "the firmware could not be read; see the gateway's log");
		}
	}
}

function control(session: Session, payload: unknown): Refused | undefined {
	const checked = checkCommand(payload, session.device?.model ?? session.handshake.model);
	if (checked.refusal) {
		const { code, message } = checked.refusal;
		return refuse(code === "unsupported" ? "unsupported_command" : "invalid_command", `payload: ${message}`);
	}
	const { command } = checked;
	const feature = featureOf[command.command];
	if (feature && !session.handshake.features.includes(feature))
		return refuse("unsupported_command", `the device's firmware does not know ${feature}; update it`);
	// Only the fields of the schema: additional ones must not reach a device's small heap.
	const text = JSON.stringify(pick(commands[command.command], command));
	if (Buffer.byteLength(text) > longestCommandBytes)
		return refuse(
			"invalid_command",
			`payload: ${command.command}: it must be at most ${longestCommandBytes} bytes of JSON`,
		);
	session.send(text);
	return undefined;
}
