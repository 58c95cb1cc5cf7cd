/** Commands to many devices: requests, responses and routes. */

import { commands } from "../../device/protocol/messages.js";
import { keysOf, object, oneOf } from "../../device/protocol/schema.js";
import { type ConfirmableName, commandEntries, isConfirmable } from "./commands.js";
import { anyObject } from "./json.js";
import { everyone, users } from "./permissions.js";
import { defineRoutes, jobId, json } from "./route.js";
import {
	array,
	closed,
	counts,
	dateTime,
	described,
	type InferShape,
	nullable,
	reference,
	text,
} from "./shapes.js";
import { commandStates } from "./statuses.js";
import { maxTargetsBytes, targets } from "./targets.js";

const schemas = { ...commands, boot_device: object({ command: oneOf("boot_device") }) };
/** Schemas of commands that can be sent to many devices or by a control of the page, by name. */
export const confirmableCommands: Readonly<Record<string, (typeof schemas)[ConfirmableName]>> =
	Object.fromEntries(
		keysOf(commandEntries).flatMap((name) => (isConfirmable(name) ? [[name, schemas[name]]] : [])),
	);

export const commandRequest = object({ targets, payload: anyObject });

/** State of a command on one device. */
export const commandPart = closed({
	deviceId: text,
	state: oneOf(...commandStates),
	reason: described(nullable(text), "one sentence"),
	at: described(dateTime, "time of the latest change of state"),
});
export type CommandPart = InferShape<typeof commandPart>;

const commandHead = {
	id: text,
	payload: reference({ ask: reference(confirmableCommands) }),
	by: described(text, "name of the token that sent it"),
	createdAt: dateTime,
	endedAt: described(nullable(dateTime), "null until all devices have finished"),
	counts: counts(commandStates),
};
export const sentCommand = closed({ ...commandHead, devices: array(commandPart) });
export type SentCommand = InferShape<typeof sentCommand>;

/** `askedCommand` with the commands that the handler accepts. */
export const documentedCommand = closed({ targets, payload: commandHead.payload });
export const commandRoutes = defineRoutes("commands", {
	"GET /api/commands": {
		summary:
			"Lists the latest commands to many devices, at most 100 of each gateway, newest first, without their devices",
		roles: everyone,
		reply: closed({ commands: array(closed(commandHead)) }),
	},
	"POST /api/commands": {
		summary: "Sends a command to many devices, 20 at a time",
		roles: users,
		body: json(
			commandRequest,
			{ targets: { room: "Kitchen" }, payload: { command: "set_volume", value: 40 } },
			{
				documented: documentedCommand,
				description:
					"Target devices (all known devices, a room, tags or ids), and a command that a report confirms, or `boot_device`, which " +
					"closes the connection.",
				maxBytes: maxTargetsBytes,
			},
		),
		status: 202,
		location: "/api/commands/:id",
		reply: jobId,
		problems: {
			409: "20 commands are running.",
			422: "No device matches, the command is not supported here, or its value is invalid; `detail` names the problem.",
		},
	},
	"GET /api/commands/:id": {
		summary: "Returns the progress of a command by device, failures first",
		roles: everyone,
		reply: sentCommand,
	},
	"DELETE /api/commands/:id": {
		summary:
			"Cancels a command for devices that it was not sent to yet; removes a finished one from the list",
		roles: users,
	},
});
