/**
 * Carries out what monitors ask for: interface specification section 4.3. Each message gets exactly one answer, and
 * nothing reaches a device that its model could not obey.
 */

import type { Logger } from "pino";
import { type Command, checkCommand, commands } from "../../device/protocol/messages.js";
import type { Session } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import type { Updates } from "../sessions/updates.js";
import { closeCodes } from "./limits.js";
import { checkMonitorMessage, type MonitorMessage, type MonitorRefusal } from "./monitor-messages.js";

export interface MonitorCommandsOptions {
	readonly sessions: Sessions;
	readonly updates: Updates;
	readonly log: Logger;
}

/** What to tell the monitor: the command is on its way to that session, or why not. */
export type Outcome =
	| { readonly command: MonitorMessage["type"]; readonly sessionId: string; readonly refusal?: undefined }
	| { readonly refusal: MonitorRefusal };

export class MonitorCommands {
	readonly #sessions: Sessions;
	readonly #updates: Updates;
	readonly #log: Logger;

	constructor(options: MonitorCommandsOptions) {
		this.#sessions = options.sessions;
		this.#updates = options.updates;
		this.#log = options.log;
	}

	/**
	 * Carries out a message as it came, parsed from JSON. All but `trigger_ota` is done when this returns its promise,
	 * so commands reach a device in the order in which they came.
	 */
	async execute(value: unknown): Promise<Outcome> {
		const checked = checkMonitorMessage(value);
		if (checked.refusal) return checked;
		const { message } = checked;
		const session = this.#sessions.find(message.targetId);
		if (!session)
			return refuse(
				"unknown_target",
				`no session or device is called ${message.targetId}; take an id from status_update`,
			);
		if (!session.connected)
			return refuse(
				"target_offline",
				`${message.targetId} is not connected; wait for its next status_update`,
			);
		const refusal = await this.#carryOut(message, session);
		return refusal ? { refusal } : { command: message.type, sessionId: session.sessionId };
	}

	#carryOut(message: MonitorMessage, session: Session) {
		switch (message.type) {
			case "boot_device":
				return this.#boot(session);
			case "control_device":
				return this.#control(session, message.payload);
			case "trigger_ota":
				return this.#update(session, message.version);
		}
	}

	#boot(session: Session): undefined {
		this.#sessions.end(session, "boot", { code: closeCodes.normal, reason: "boot" });
	}

	#control(session: Session, payload: unknown): MonitorRefusal | undefined {
		const model = session.device?.model ?? session.introduction.model;
		const checked = checkCommand(payload, model);
		if (checked.refusal)
			return {
				code: checked.refusal.code === "unsupported" ? "unsupported_command" : "invalid_command",
				message: `payload: ${checked.refusal.message}`,
			};
		session.send(commandText(checked.command));
		return undefined;
	}

	async #update(session: Session, version: string | undefined): Promise<MonitorRefusal | undefined> {
		const { device } = session;
		if (!device)
			return {
				code: "unknown_target",
				message: "this session has not sent a state_report yet, so its device has no name; wait for it",
			};
		try {
			const refusal = await this.#updates.trigger(device, version);
			this.#log.info({ deviceId: device.deviceId, version, refused: refusal?.code }, "update asked for");
			return refusal;
		} catch (error) {
			this.#log.error({ deviceId: device.deviceId, version, err: error }, "update could not be started");
			return { code: "no_firmware", message: "the firmware could not be read; see the gateway's log" };
		}
	}
}

/** A command with the fields of its table and no others: what a monitor adds must not reach a device's small heap. */
function commandText(command: Command): string {
	return JSON.stringify(command, Object.keys(commands[command.command].fields));
}

function refuse(code: MonitorRefusal["code"], message: string): Outcome {
	return { refusal: { code, message } };
}
