/**
 * Messages from monitors: their schemas, from which validation, types and asyncapi.yaml derive, and their execution. Each
 * message gets exactly one response, and devices receive only commands that their model supports.
 */

import type { Logger } from "pino";
import {
	checkCommand,
	commands,
	featureFor,
	isCommandName,
	maxCommandBytes,
	uplinks,
} from "../../device/protocol/messages.js";
import {
	describeProblem,
	entryOf,
	findProblem,
	type Infer,
	isRecord,
	matches,
	object,
	oneOf,
	optional,
	type Schema,
	string,
} from "../../device/protocol/schema.js";
import type { Change } from "../access/access.js";
import { type Action, commandEntries, mayDo } from "../api/commands.js";
import type { MonitorErrorCode } from "../api/frames.js";
import { anyObject, parseJson, pick } from "../api/json.js";
import { roleWords } from "../api/permissions.js";
import type { Updates } from "../firmware/updates.js";
import { closeCodes } from "../limits.js";
import type { Device, Session } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import type { Monitor } from "./monitor.js";

/** Id of a session, or of a device for its latest session. */
export const targetId = string(64);
/** Chosen by the client; returned in the response. */
export const requestId = optional(string(64));
/** Command, validated against the target's model. */
const payload = anyObject;
const version = optional(string(64));

/** Schemas by `type`. */
export const monitorMessages = Object.freeze({
	boot_device: object({ type: oneOf("boot_device"), targetId, requestId }),
	control_device: object({ type: oneOf("control_device"), targetId, payload, requestId }),
	trigger_ota: object({ type: oneOf("trigger_ota"), targetId, version, requestId }),
});
export type MonitorMessageType = keyof typeof monitorMessages;
export type MonitorMessageOf<T extends MonitorMessageType> = Infer<(typeof monitorMessages)[T]>;
export type MonitorMessage = { [T in MonitorMessageType]: MonitorMessageOf<T> }[MonitorMessageType];

export interface Rejected {
	/** `message` states the problem and the remedy in one sentence. */
	readonly rejection: { readonly code: MonitorErrorCode; readonly message: string };
}

export interface Executed {
	/** Type of the message. */
	readonly command: string;
	/** Session of the target. */
	readonly sessionId?: string;
	readonly rejection?: undefined;
}

export type Outcome = Executed | Rejected;

/** Validates and executes a type of message added by an extension. */
export type MessageKind = (value: unknown, monitor: Monitor) => Outcome | Promise<Outcome>;

/** Defines a type of message by its schema and its execution. */
export function messageKind<const S extends Schema>(
	schema: S,
	execute: (message: Infer<S>, monitor: Monitor) => Outcome | Promise<Outcome>,
): MessageKind {
	return (value, monitor) => {
		const picked = pick(schema, value);
		return matches(schema, picked) ? execute(picked, monitor) : rejectInvalid(schema, picked);
	};
}

export interface CommandHooks {
	/** Added messages, by `type`. All roles may send them, so they must only change what the monitor itself receives. */
	readonly messages?: Readonly<Record<string, MessageKind>>;
	/**
	 * Executes a message instead of the core, such as by forwarding it to another process. Called in reverse order of the
	 * extensions until one returns an outcome. @returns undefined: the core executes the message
	 */
	intercept?(message: MonitorMessage, session: Session): Rejected | Promise<Outcome> | undefined;
}

/**
 * Validates a message of the core.
 * @param value parsed message; undefined: invalid JSON
 * @param others types added by extensions, for the error message
 */
export function checkMonitorMessage(
	value: unknown,
	others: readonly string[] = [],
): { readonly message: MonitorMessage; readonly rejection?: undefined } | Rejected {
	if (value === undefined) return rejectMessage("invalid_json", "a message must be JSON");
	if (!isRecord(value)) return rejectMessage("invalid_message", "a message must be a JSON object");
	const type = value.type;
	if (typeof type !== "string") return rejectMessage("invalid_message", "type must be a string");
	const schema = entryOf(monitorMessages, type);
	if (!schema)
		return rejectMessage(
			"unknown_type",
			`type must be one of ${[...Object.keys(monitorMessages), ...others].join(", ")}`,
		);
	const picked = pick(schema, value);
	return matches(schema, picked) ? { message: picked } : rejectInvalid(schema, picked);
}

function rejectInvalid(schema: Schema, value: unknown): Rejected {
	const type = isRecord(value) ? `${value.type}: ` : "";
	return rejectMessage("invalid_message", `${type}${describeProblem(findProblem(schema, value))}`);
}

/** Returns the request id of a message; undefined if it is absent or invalid. */
export function requestIdOf(value: unknown): string | undefined {
	const id = isRecord(value) ? value.requestId : undefined;
	return matches(requestId, id) ? id : undefined;
}

/** @param message problem and remedy, as a sentence */
export function rejectMessage(code: MonitorErrorCode, message: string): Rejected {
	return { rejection: { code, message } };
}

/** @param value parsed message; undefined: invalid JSON @param monitor its sender; undefined: an extension */
export type Execute = (value: unknown, monitor?: Monitor) => Promise<Outcome>;

/**
 * Creates the executor. After the sender's permissions were read, in the order of the messages, all but `trigger_ota` are executed
 * synchronously, so commands reach a device in order.
 */
export function monitorCommands(
	sessions: Pick<Sessions, "find" | "end">,
	updates: Pick<Updates, "trigger">,
	log: Pick<Logger, "info" | "error">,
	hooks: readonly CommandHooks[] = [],
	onChange: (change: Change) => void = () => {},
): Execute {
	/** Messages added by extensions; collected at the first message, since hooks may be added later. */
	let added: ReadonlyMap<string, MessageKind> | undefined;
	return async (value, monitor) => {
		const person = monitor && (await monitor.client.findPerson());
		if (monitor && !person) return rejectMessage("forbidden", "the login has ended; log in again");
		added ??= new Map(hooks.flatMap(({ messages = {} }) => Object.entries(messages)));
		const type = isRecord(value) ? value.type : undefined;
		const execute = typeof type === "string" ? added.get(type) : undefined;
		if (execute && monitor) return execute(value, monitor);
		const checked = checkMonitorMessage(value, [...added.keys()]);
		if (checked.rejection) return checked;
		const { message } = checked;
		if (person && !mayDo(person, actionOf(message)))
			return rejectMessage(
				"forbidden",
				`this token may ${roleWords[person.role]}. Use a token with the role monitor`,
			);
		// Resolved before the execution, after which the target may belong to another device.
		const { device } = sessions.find(message.targetId) ?? {};
		const before = device && monitor && valueBefore(message, device);
		const outcome = await executeOnTarget(message);
		if (monitor && person && !outcome.rejection) {
			const { remoteAddress } = monitor.client;
			onChange({ person, remoteAddress, deviceId: device?.deviceId, ...changeIn(message), before });
		}
		return outcome;
	};

	async function executeOnTarget(message: MonitorMessage): Promise<Outcome> {
		const { targetId } = message;
		const session = sessions.find(targetId);
		if (!session)
			return rejectMessage(
				"unknown_target",
				`no session or device has the id ${targetId}; use an id from a status_update`,
			);
		if (!session.isReachable)
			return rejectMessage("target_offline", `${targetId} is not connected; wait for its next status_update`);
		for (const hook of hooks.toReversed()) {
			const outcome = hook.intercept?.(message, session);
			if (outcome) return outcome;
		}
		const rejected = await execute(message, session);
		return rejected ?? { command: message.type, sessionId: session.sessionId };
	}

	function execute(message: MonitorMessage, session: Session) {
		switch (message.type) {
			case "boot_device":
				return sessions.end(session, "boot", { code: closeCodes.normal, reason: "boot" });
			case "control_device":
				return sendCommand(session, message.payload);
			case "trigger_ota":
				return requestUpdate(session, message.version);
		}
	}

	async function requestUpdate(
		{ device }: Session,
		version: string | undefined,
	): Promise<Rejected | undefined> {
		if (!device)
			return rejectMessage(
				"unknown_target",
				"the device of this session is not identified yet; wait for its first state_report",
			);
		const { deviceId } = device;
		try {
			const rejection = await updates.trigger(device, version);
			log.info({ deviceId, version, rejection: rejection?.code }, "update requested");
			return rejection && rejectMessage(rejection.code, rejection.message);
		} catch (error) {
			log.error({ deviceId, version, err: error }, "starting the update failed");
			return rejectMessage("no_firmware", "the firmware could not be read; see the gateway's log");
		}
	}
}

/** Returns the action whose roles apply to a message. */
function actionOf(message: MonitorMessage): string {
	if (message.type !== "control_device") return message.type satisfies Action;
	const { payload } = message;
	return isRecord(payload) && typeof payload.command === "string" ? payload.command : "";
}

/** Returns the part of an executed message that the audit log records. */
export function changeIn(message: MonitorMessage): Pick<Change, "what" | "after"> {
	const { type, targetId: _, requestId: __, ...after } = message;
	const what = actionOf(message);
	if (type !== "control_device" || !isCommandName(what)) return { what, after };
	const { command, ...values } = Object(pick(commands[what], message.payload));
	return { what, after: values };
}

/** Returns the reported value that a command replaces. */
function valueBefore(message: MonitorMessage, { state }: Device): object | undefined {
	const { reported } = entryOf(commandEntries, actionOf(message)) ?? {};
	const report: unknown = reported && parseJson(state.text ?? "");
	return reported && matches(uplinks.state_report, report) ? { value: reported(report) } : undefined;
}

/** Validates a command and sends it to the device. */
function sendCommand(session: Session, payload: unknown): Rejected | undefined {
	const checked = checkCommand(payload, session.device?.model ?? session.handshake.model);
	if (checked.rejection) {
		const { code, message } = checked.rejection;
		return rejectMessage(
			code === "unsupported" ? "unsupported_command" : "invalid_command",
			`payload: ${message}`,
		);
	}
	const { command } = checked;
	const feature = featureFor(command);
	if (feature && !session.handshake.features.includes(feature))
		return rejectMessage(
			"unsupported_command",
			`the device's firmware does not support ${feature}; update it`,
		);
	// Unknown fields are left out, since the device's heap is small.
	const text = JSON.stringify(pick(commands[command.command], command));
	if (Buffer.byteLength(text) > maxCommandBytes)
		return rejectMessage(
			"invalid_command",
			`payload: ${command.command} must be at most ${maxCommandBytes} bytes of JSON`,
		);
	session.send(text);
	return undefined;
}
