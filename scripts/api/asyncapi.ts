/** The WebSocket half of the gateway as an AsyncAPI 3.0 document, from the protocol table. */

import { chips, commands, features, uplinks } from "../../device/protocol/messages.js";
import { monitorMessages } from "../../gateway/sockets/monitor-messages.js";
import { deviceHeaders } from "../../gateway/sockets/upgrades.js";
import { commandExamples, monitorExamples, uplinkExamples } from "./examples.js";
import { type Json, type JsonObject, jsonSchemaByModel, jsonSchemaOf, propertiesOf } from "./json-schema.js";
import { keysOf, monitorFrames, schemaRef, sessionSchema } from "./monitor-frames.js";
import {
	commandErrorWords,
	commandWords,
	listOf,
	monitorErrors,
	monitorErrorWords,
	monitorWords,
	uplinkWords,
} from "./words.js";

type Document = Record<string, Json>;

export function asyncApi(version: string): JsonObject {
	return {
		asyncapi: "3.0.0",
		info: {
			title: "Device gateway: WebSockets",
			version,
			description:
				"JSON text frames of at most 64 KiB. Devices connect to /device, dashboards and programs to /monitor.",
		},
		servers: {
			gateway: {
				host: "127.0.0.1:8080",
				protocol: "ws",
				description: "HOST and PORT; wss where TLS_CERT and TLS_KEY are set",
				security: [{ $ref: "#/components/securitySchemes/token" }],
			},
		},
		channels: { device: deviceChannel(), monitor: monitorChannel() },
		operations: {
			...commandOperations(),
			...uplinkOperations(),
			...monitorOperations(),
			...frameOperations(),
		},
		components: {
			messages: { ...messagesOfDevices(), ...messagesOfMonitors() },
			schemas: schemas(),
			securitySchemes: {
				token: {
					type: "http",
					scheme: "bearer",
					description:
						"Authorization: Bearer <token>, the device token at /device, the monitor token at /monitor, where a browser's login cookie does as well",
				},
			},
		},
	};
}

function deviceChannel(): JsonObject {
	return {
		address: "/device",
		description:
			"One connection a device; an older one of the same device is closed with 4001. 20 invalid uplinks in a minute close it with 1008, a binary frame with 1003, too large a frame with 1009, a gateway that stops with 1001. Past 200 uplinks at once, and 100 a second, a device is read more slowly: they wait, and none is lost. An uplink counts once more for each 2048 characters. More than 100 ping and pong frames at once, or 20 a second, close it with 1008.",
		messages: refs([...Object.keys(commands), ...Object.keys(uplinks)]),
		bindings: {
			ws: {
				method: "GET",
				headers: {
					type: "object",
					properties: {
						...propertiesOf(deviceHeaders),
						// One that is not known is no reason to refuse.
						"Device-Chip": { type: "string", enum: [...chips] },
						"Device-Features": {
							type: "string",
							description: `A list with commas of what the firmware knows: ${features.join(", ")}.`,
						},
					},
				},
				bindingVersion: "0.1.0",
			},
		},
	};
}

function monitorChannel(): JsonObject {
	return {
		address: "/monitor",
		description:
			"The first frame is a snapshot of all sessions. Past about 256 KB it holds the first of them and has the field remaining; the others follow in status_update frames that have it too, as fast as the monitor reads, with changes between them. A monitor that reads too slowly gets only the newest state_report of each session above 1 MiB that waits, and is closed with 1013 above 8 MiB. One that goes on though it was answered rate_limited, 400 times at once or 10 times a second, is closed with 1008, as is one that sends more than 100 ping and pong frames at once, or 20 a second. After a device was forgotten a snapshot comes again; it takes the place of all that was known.",
		messages: refs([...Object.keys(monitorMessages), ...Object.keys(monitorFrames)]),
		bindings: { ws: { method: "GET", bindingVersion: "0.1.0" } },
	};
}

function schemas(): JsonObject {
	const all: Document = { session: sessionSchema };
	for (const name of keysOf(commands)) all[name] = jsonSchemaOf(commands[name]);
	for (const name of keysOf(uplinks))
		all[name] =
			name === "state_report"
				? jsonSchemaByModel(uplinks[name], (model) => ({
						properties: { system: { properties: { model: { const: model } } } },
					}))
				: jsonSchemaOf(uplinks[name]);
	for (const name of keysOf(monitorMessages)) all[name] = jsonSchemaOf(monitorMessages[name]);
	for (const name of keysOf(monitorFrames)) all[name] = monitorFrames[name]?.schema ?? {};
	// What the table cannot say of itself: the payload is one of the commands.
	all.control_device = {
		allOf: [
			all.control_device ?? {},
			{ properties: { payload: { oneOf: keysOf(commands).map(schemaRef) } } },
		],
	};
	return all;
}

function messagesOfDevices(): JsonObject {
	const all: Document = {};
	for (const name of keysOf(commands)) all[name] = message(name, commandWords[name], commandExamples[name]);
	for (const name of keysOf(uplinks)) all[name] = message(name, uplinkWords[name], uplinkExamples[name]);
	return all;
}

function messagesOfMonitors(): JsonObject {
	const all: Document = {};
	for (const name of keysOf(monitorMessages))
		all[name] = message(name, monitorWords[name], monitorExamples[name]);
	for (const [name, { words, example }] of Object.entries(monitorFrames))
		all[name] = message(name, words, example);
	return all;
}

function message(name: string, words: string, example: Json): JsonObject {
	return {
		name,
		contentType: "application/json",
		description: words,
		payload: schemaRef(name),
		examples: [{ payload: example }],
	};
}

function commandOperations(): JsonObject {
	const codes = listOf(keysOf(commandErrorWords), commandErrorWords);
	const all: Document = {};
	for (const name of keysOf(commands))
		all[name] = {
			...operation("send", "device", name),
			description: `${commandWords[name]} Answered by a state_report, or a command_error:\n${codes}`,
			reply: reply(
				"device",
				name === "start_ota" ? ["ota_progress", "ota_error"] : ["state_report"],
				"command_error",
			),
		};
	return all;
}

function uplinkOperations(): JsonObject {
	return Object.fromEntries(Object.keys(uplinks).map((name) => [name, operation("receive", "device", name)]));
}

function monitorOperations(): JsonObject {
	const all: Document = {};
	for (const name of keysOf(monitorMessages))
		all[name] = {
			...operation("receive", "monitor", name),
			description: `${monitorWords[name]} Answered once, by ack or by error:\n${listOf(monitorErrors[name], monitorErrorWords)}`,
			reply: reply("monitor", ["ack"], "error"),
		};
	return all;
}

function frameOperations(): JsonObject {
	return Object.fromEntries(
		["status_update", "device_message"].map((name) => [name, operation("send", "monitor", name)]),
	);
}

function operation(action: "send" | "receive", channel: string, name: string): JsonObject {
	return {
		action,
		channel: { $ref: `#/channels/${channel}` },
		messages: [{ $ref: `#/channels/${channel}/messages/${name}` }],
	};
}

function reply(channel: string, answers: readonly string[], refusal: string): JsonObject {
	return {
		channel: { $ref: `#/channels/${channel}` },
		messages: [...answers, refusal].map((name) => ({ $ref: `#/channels/${channel}/messages/${name}` })),
	};
}

function refs(names: readonly string[]): JsonObject {
	return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]));
}
