/**
 * Executes monitors' messages: interface specification section 4.3. Each gets exactly one answer, and a device gets
 * only commands that its model supports.
 */

import type { Logger } from "pino";
import { checkCommand, commands, featureOf, longestCommandBytes } from "../../device/protocol/messages.js";
import type { Updates } from "../firmware/updates.js";
import type { Session } from "../sessions/device.js";
import type { Sessions } from "../sessions/sessions.js";
import { closeCodes } from "./limits.js";
import { checkMonitorMessage, type MonitorMessage, type Refused, refuse } from "./monitor-messages.js";

/** The session that gets the command, or why none does. */
export type Outcome =
	| { readonly command: MonitorMessage["type"]; readonly sessionId: string; readonly refusal?: undefined }
	| Refused;

/**
 * @returns a function that executes a parsed message; undefined stands for invalid JSON. All but `trigger_ota` is
 * done synchronously, so commands reach a device in order.
 */
export function monitorCommands(
	sessions: Pick<Sessions, "find" | "end">,
	updates: Pick<Updates, "trigger">,
	log: Pick<Logger, "info" | "error">,
) {
	return async (value: unknown): Promise<Outcome> => {
		const checked = checkMonitorMessage(value);
		if (checked.refusal) return checked;
		const { message } = checked;
		const { targetId } = message;
		const session = sessions.find(targetId);
		if (!session)
			return refuse(
				"unknown_target",
				`no session or device is called ${targetId}; take an id from status_update`,
			);
		if (!session.isReachable)
			return refuse("target_offline", `${targetId} is not connected; wait for its next status_update`);
		const refused = await carryOut(message, session);
		return refused ?? { command: message.type, sessionId: session.sessionId };
	};

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
	const text = JSON.stringify(command, Object.keys(commands[command.command].fields));
	if (Buffer.byteLength(text) > longestCommandBytes)
		return refuse(
			"invalid_command",
			`payload: ${command.command}: it must be at most ${longestCommandBytes} bytes of JSON`,
		);
	session.send(text);
	return undefined;
}
