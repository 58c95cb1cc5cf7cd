/**
 * Messages from monitors: schemas, shared by validation, types and AsyncAPI document, and execution. Each gets exactly
 * one answer, and a device gets only commands that its model supports.
 */

import type { Logger } from "pino";
import {
	checkCommand,
	commands,
	featureFor,
	isCommandName,
	maxCommandBytes,
} from "../../device/protocol/messages.js";
import {
	describeProblem,
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
import { type Action, mayDo } from "../api/commands.js";
import type { MonitorErrorCode } from "../api/frames.js";
import { anyObject, pick } from "../api/json.js";
import { roleWords } from "../api/permissions.js";
import type { Updates } from "../firmware/updates.js";
import { closeCodes } from "../limits.js";
import type { Session } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import type { Monitor } from "./monitor.js";

/** A session's id, or a device's for its latest session. */
export const targetId = string(64);
/** Returned in the answer. */
export const requestId = optional(string(64));
/** A command; checked against the target's model. */
const payload = anyObject;
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

/** `message` is one sentence that says what to change. */
export interface Rejected {
	readonly rejection: { readonly code: MonitorErrorCode; readonly message: string };
}

/** `command` is the message's type; `sessionId` is the target's. */
export interface Executed {
	readonly command: string;
	readonly sessionId?: string;
	readonly rejection?: undefined;
}

export type Outcome = Executed | Rejected;

/** Checks and executes a type of message that an extension adds. */
export type MessageKind = (value: unknown, monitor: Monitor) => Outcome | Promise<Outcome>;

export function messageKind<const S extends Schema>(
	schema: S,
	execute: (message: Infer<S>, monitor: Monitor) => Outcome | Promise<Outcome>,
): MessageKind {
	return (value, monitor) => {
		const picked = pick(schema, value);
		return matches(schema, picked) ? execute(picked, monitor) : refuseMessage(schema, picked);
	};
}

export interface CommandHooks {
	/** Further messages, by `type`. All people may send them: they change no more than what the monitor itself gets. */
	readonly messages?: Readonly<Record<string, MessageKind>>;
	/**
	 * The last extension is asked first: it may hand the message to another process.
	 * @returns the outcome of a message in place of the core's; undefined: the core executes it
	 */
	intercept?(message: MonitorMessage, session: Session): Rejected | Promise<Outcome> | undefined;
}

/** @param value a parsed message of the core; undefined stands for invalid JSON @param others further types */
export function checkMonitorMessage(
	value: unknown,
	others: readonly string[] = [],
): { readonly message: MonitorMessage; readonly rejection?: undefined } | Rejected {
	if (value === undefined) return refuse("invalid_json", "a message must be JSON");
	if (!isRecord(value)) return refuse("invalid_message", "a message must be a JSON object");
	const type = value.type;
	if (typeof type !== "string") return refuse("invalid_message", "type must be a string");
	if (!isMonitorMessageType(type))
		return refuse(
			"unknown_type",
			`type must be one of ${[...Object.keys(monitorMessages), ...others].join(", ")}`,
		);
	const schema = monitorMessages[type];
	const picked = pick(schema, value);
	return matches(schema, picked) ? { message: picked } : refuseMessage(schema, picked);
}

function refuseMessage(schema: Schema, value: unknown): Rejected {
	const type = isRecord(value) ? `${value.type}: ` : "";
	return refuse("invalid_message", `${type}${describeProblem(findProblem(schema, value))}`);
}

/** Undefined if it is absent or invalid. */
export function requestIdOf(value: unknown): string | undefined {
	const id = isRecord(value) ? value.requestId : undefined;
	return matches(requestId, id) ? id : undefined;
}

function isMonitorMessageType(type: string): type is MonitorMessageType {
	return Object.hasOwn(monitorMessages, type);
}

/** @param message one sentence that says what to change */
export function refuse(code: MonitorErrorCode, message: string): Rejected {
	return { rejection: { code, message } };
}

/** Executes a parsed message; undefined stands for invalid JSON. @param monitor undefined: an extension asks */
export type Execute = (value: unknown, monitor?: Monitor) => Promise<Outcome>;

/** @returns a function that does all but `trigger_ota` synchronously, so that commands reach a device in order */
export function monitorCommands(
	sessions: Pick<Sessions, "find" | "end">,
	updates: Pick<Updates, "trigger">,
	log: Pick<Logger, "info" | "error">,
	hooks: readonly CommandHooks[] = [],
	onChange: (change: Change) => void = () => {},
): Execute {
	/** Made at the first message, since hooks may be added later. */
	let added: ReadonlyMap<string, MessageKind> | undefined;
	return async (value, monitor) => {
		added ??= new Map(hooks.flatMap(({ messages = {} }) => Object.entries(messages)));
		const type = isRecord(value) ? value.type : undefined;
		const execute = typeof type === "string" ? added.get(type) : undefined;
		if (execute && monitor) return execute(value, monitor);
		const checked = checkMonitorMessage(value, [...added.keys()]);
		if (checked.rejection) return checked;
		const { message } = checked;
		const { person } = monitor?.client ?? {};
		if (person && !mayDo(person, actionOf(message)))
			return refuse(
				"forbidden",
				`this token may ${roleWords[person.role]}. Use a token with the role monitor`,
			);
		// Now, as it may be another one's when the message has been carried out.
		const { deviceId } = sessions.find(message.targetId)?.device ?? {};
		const outcome = await attempt(message);
		if (monitor && !outcome.rejection) {
			onChange({ ...monitor.client, deviceId, what: message.type, body: definedBy(message) });
		}
		return outcome;
	};

	async function attempt(message: MonitorMessage): Promise<Outcome> {
		const { targetId } = message;
		const session = sessions.find(targetId);
		if (!session)
			return refuse(
				"unknown_target",
				`no session or device is called ${targetId}; take an id from status_update`,
			);
		if (!session.isReachable)
			return refuse("target_offline", `${targetId} is not connected; wait for its next status_update`);
		for (const hook of hooks.toReversed()) {
			const outcome = hook.intercept?.(message, session);
			if (outcome) return outcome;
		}
		const refused = await carryOut(message, session);
		return refused ?? { command: message.type, sessionId: session.sessionId };
	}

	function carryOut(message: MonitorMessage, session: Session) {
		switch (message.type) {
			case "boot_device":
				return sessions.end(session, "boot", { code: closeCodes.normal, reason: "boot" });
			case "control_device":
				return control(session, message.payload);
			case "trigger_ota":
				return update(session, message.version);
		}
	}

	async function update({ device }: Session, version: string | undefined): Promise<Rejected | undefined> {
		if (!device)
			return refuse(
				"unknown_target",
				"this session has not sent a state_report yet, so its device has no name; wait for it",
			);
		const { deviceId } = device;
		try {
			const rejection = await updates.trigger(device, version);
			log.info({ deviceId, version, refused: rejection?.code }, "update requested");
			return rejection && refuse(rejection.code, rejection.message);
		} catch (error) {
			log.error({ deviceId, version, err: error }, "update could not be started");
			return refuse("no_firmware", "the firmware could not be read; see the gateway's log");
		}
	}
}

/** Returns the action whose roles apply to a message. */
function actionOf(message: MonitorMessage): string {
	if (message.type !== "control_device") return message.type satisfies Action;
	const { payload } = message;
	return isRecord(payload) && typeof payload.command === "string" ? payload.command : "";
}

/** For the audit: what a message that was carried out defines. */
function definedBy(message: MonitorMessage): object {
	const { type, targetId: _, requestId: __, ...body } = message;
	if (type !== "control_device") return body;
	const command = actionOf(message);
	return isCommandName(command) ? { payload: pick(commands[command], message.payload) } : {};
}

function control(session: Session, payload: unknown): Rejected | undefined {
	const checked = checkCommand(payload, session.device?.model ?? session.handshake.model);
	if (checked.rejection) {
		const { code, message } = checked.rejection;
		return refuse(code === "unsupported" ? "unsupported_command" : "invalid_command", `payload: ${message}`);
	}
	const { command } = checked;
	const feature = featureFor(command);
	if (feature && !session.handshake.features.includes(feature))
		return refuse("unsupported_command", `the device's firmware does not know ${feature}; update it`);
	// Other fields must not reach a device's small heap.
	const text = JSON.stringify(pick(commands[command.command], command));
	if (Buffer.byteLength(text) > maxCommandBytes)
		return refuse(
			"invalid_command",
			`payload: ${command.command}: it must be at most ${maxCommandBytes} bytes of JSON`,
		);
	session.send(text);
	return undefined;
}
