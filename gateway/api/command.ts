/** A command to many devices, as it is asked for and as it is shown. */

import { commands } from "../../device/protocol/messages.js";
import { type Infer, object, oneOf } from "../../device/protocol/schema.js";
import { anyObject } from "../json.js";
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
import { targets } from "./targets.js";

const { set_volume, set_brightness, set_auto_brightness, set_light, set_led, set_haptics } = commands;
const { play_audio, stop_sound, identify, restart, query_state } = commands;

/** What many devices, or a control of the page, can ask for: what a report, or the next connection, confirms. */
export const asks = Object.freeze({
	set_volume,
	set_brightness,
	set_auto_brightness,
	set_light,
	set_led,
	set_haptics,
	play_audio,
	stop_sound,
	identify,
	restart,
	query_state,
	/** A new connection. */
	boot_device: object({ command: oneOf("boot_device") }),
});
export type AskName = keyof typeof asks;
export type Ask = { [N in AskName]: Infer<(typeof asks)[N]> }[AskName];

export const askedCommand = object({ targets, payload: anyObject });

/** A device's part of it. */
export const commandPart = closed({
	deviceId: text,
	state: oneOf(...commandStates),
	reason: described(nullable(text), "one sentence"),
	at: described(dateTime, "of the latest change of its state"),
});
export type CommandPart = InferShape<typeof commandPart>;

export const sentCommand = closed({
	id: text,
	payload: reference({ ask: reference(asks) }),
	by: described(text, "the name of the token by which it was sent"),
	createdAt: dateTime,
	endedAt: described(nullable(dateTime), "null until all devices have ended"),
	counts: counts(commandStates),
	devices: array(commandPart),
});
export type SentCommand = InferShape<typeof sentCommand>;
