/** Commands to many devices: requests, responses and routes. */

import { commands } from "../../device/protocol/messages.js";
import { keysOf, object, oneOf } from "../../device/protocol/schema.js";
import { type AskName, commandEntries, isAskName } from "./commands.js";
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
/** Schemas of what many devices, or a control of the page, can be asked, by the name of the command. */
export const asks: Readonly<Record<string, (typeof schemas)[AskName]>> = Object.fromEntries(
	keysOf(commandEntries).flatMap((name) => (isAskName(name) ? [[name, schemas[name]]] : [])),
);

export const askedCommand = object({ targets, payload: anyObject });

/** State of a command on one device. */
export const commandPart = closed({
	deviceId: text,
	state: oneOf(...commandStates),
	reason: described(nullable(text), "one sentence"),
	at: described(dateTime, "of the latest change of its state"),
});
export type CommandPart = InferShape<typeof commandPart>;

const commandHead = {
	id: text,
	payload: reference({ ask: reference(asks) }),
	by: described(text, "name of the token by which it was sent"),
	createdAt: dateTime,
	endedAt: described(nullable(dateTime), "null until all devices have ended"),
	counts: counts(commandStates),
};
export const sentCommand = closed({ ...commandHead, devices: array(commandPart) });
export type SentCommand = InferShape<typeof sentCommand>;

/** `askedCommand` with the commands that the handler accepts. */
export const documentedCommand = closed({ targets, payload: commandHead.payload });
const unknownCommand = "No command has this id.";

export const commandRoutes = defineRoutes("commands", {
	"GET /api/commands": {
		summary:
			"The latest commands to many devices, at most 100 of each gateway, the newest first, without their devices",
		roles: everyone,
		returns: "The commands.",
		reply: closed({ commands: array(closed(commandHead)) }),
	},
	"POST /api/commands": {
		summary: "Sends a command to many devices, 20 at a time",
		roles: users,
		body: json(
			askedCommand,
			{ targets: { room: "Kitchen" }, payload: { command: "set_volume", value: 40 } },
			{
				documented: documentedCommand,
				description:
					"The devices (all that are known now, those of a room, or those named), and the command: one that a device's report confirms, " +
					"or `boot_device`, which closes the connection.",
				maxBytes: maxTargetsBytes,
			},
		),
		status: 202,
		location: "/api/commands/:id",
		returns: "The devices are asked.",
		reply: jobId,
		problems: {
			409: "20 commands are running.",
			422: "There are no such devices, or the command is not one of these, or its value is not valid; `detail` says which.",
		},
	},
	"GET /api/commands/:id": {
		summary: "Progress of a command, device by device, failures first",
		roles: everyone,
		returns: "The command.",
		reply: sentCommand,
		problems: { 404: unknownCommand },
	},
	"DELETE /api/commands/:id": {
		summary: "Cancels it for devices that were not asked yet; one that has ended is removed from the list",
		roles: users,
		returns: "No further device is asked, or it is not listed any more.",
		problems: { 404: unknownCommand },
	},
});
