/** Generates gateway/api/asyncapi.yaml, the AsyncAPI 3.0 document of the WebSockets, from the tables of messages. */

import { chips, commands, features, uplinks } from "../../device/protocol/messages.js";
import { keysOf, oneOf } from "../../device/protocol/schema.js";
import { confirmableCommands } from "../../gateway/api/command.js";
import { commandDocuments } from "../../gateway/api/commands.js";
import { frames } from "../../gateway/api/frames.js";
import { deviceSummary, session } from "../../gateway/api/session.js";
import { closed } from "../../gateway/api/shapes.js";
import { addedMessages } from "../../gateway/extensions.js";
import { socketLimits } from "../../gateway/limits.js";
import { monitorMessages } from "../../gateway/sockets/monitor-commands.js";
import { deviceHeaders } from "../../gateway/sockets/upgrades.js";
import { frameDescriptions, monitorDescriptions, uplinkDescriptions } from "./descriptions.js";
import { monitorExamples, uplinkExamples } from "./examples.js";
import {
	apiDocument,
	type Json,
	type JsonObject,
	jsonSchemaByModel,
	jsonSchemaOf,
	propertiesOf,
	schemaRef,
} from "./json-schema.js";

const { maxFrameBytes, maxMonitorFrameBytes } = socketLimits;
const frameLimits = `of at most ${maxFrameBytes / 1024} KiB to the gateway and to devices, and of at most ${maxMonitorFrameBytes / 1024} KiB to monitors`;

/** Protocol-Version that devices send; independent of the version of the gateway. */
const protocolVersion = "1";

export const asyncApiDocument = () =>
	apiDocument("asyncapi.yaml", "device/protocol/ and scripts/api/", asyncApi());

interface Message {
	readonly channel: "device" | "monitor";
	/** Action of the gateway; undefined for a response to another message. */
	readonly action?: "send" | "receive";
	readonly description: string;
	/** Absent for what the gateway sends to monitors, of which AsyncAPI tools show the schema. */
	readonly example?: Json;
	readonly schema: JsonObject;
	/** Undefined without a response. */
	readonly answers?: { readonly names: readonly string[]; readonly description: string };
}

function asyncApi(): JsonObject {
	const messages = Object.entries({ ...deviceMessages(), ...sentByMonitors(), ...sentToMonitors() });
	const of = (channel: Message["channel"]) =>
		Object.fromEntries(
			messages
				.filter(([, message]) => message.channel === channel)
				.map(([name]) => [name, { $ref: `#/components/messages/${name}` }]),
		);
	const schemas = messages.map(([name, { schema }]): [string, JsonObject] => [name, schema]);
	return {
		asyncapi: "3.0.0",
		info: {
			title: "Device gateway: WebSockets",
			version: protocolVersion,
			description: `JSON text frames, ${frameLimits}. Devices connect to /device, dashboards and programs to /monitor.`,
		},
		servers: {
			gateway: {
				host: "127.0.0.1:8080",
				protocol: "ws",
				description: "HOST and PORT; wss where TLS_CERT and TLS_KEY are set",
				security: [{ $ref: "#/components/securitySchemes/token" }],
			},
		},
		channels: {
			device: { ...deviceChannel(), messages: of("device") },
			monitor: { ...monitorChannel, messages: of("monitor") },
		},
		operations: Object.fromEntries(
			messages.flatMap(([name, message]) => (message.action ? [[name, operation(name, message)]] : [])),
		),
		components: {
			messages: Object.fromEntries(
				messages.map(([name, { description, example }]) => [
					name,
					{
						name,
						contentType: "application/json",
						description,
						payload: schemaRef(name),
						...(example !== undefined && { examples: [{ payload: example }] }),
					},
				]),
			),
			schemas: {
				session: jsonSchemaOf(session),
				device_summary: jsonSchemaOf(deviceSummary),
				ask: { oneOf: Object.values(confirmableCommands).map((command) => jsonSchemaOf(command)) },
				...Object.fromEntries(schemas),
			},
			securitySchemes: {
				token: {
					type: "http",
					scheme: "bearer",
					description:
						"Authorization: Bearer <token>: the device token at /device, the monitor token at /monitor. At /monitor a browser's login cookie is accepted instead.",
				},
			},
		},
	};
}

function deviceChannel(): JsonObject {
	return {
		address: "/device",
		description:
			"At most one connection for each device: when a device connects again, its previous connection is closed with 4001. A board whose first report has another `mac_address` than the known device is closed with 4002. Other close codes: 1008 after 20 invalid uplinks in a minute, or more than 100 ping and pong frames at once or 20 per second; 1003 after a binary frame; 1009 after a frame that is too large; 1012 when the gateway stops, with the reason `retry in <seconds> s`: after how many whole seconds, drawn for each device, it should connect again (firmware honours 1 to 120, and returns soon after any other reason). A device that sends more than 200 uplinks at once, or 100 per second, is read more slowly; no uplink is lost. Each further 2048 characters of an uplink count as one more uplink.",
		bindings: {
			ws: {
				method: "GET",
				headers: {
					type: "object",
					properties: {
						...propertiesOf(deviceHeaders),
						// Unknown chips are accepted.
						"Device-Chip": { type: "string", enum: [...chips] },
						"Device-Features": {
							type: "string",
							description: `Features of the firmware, separated by commas: ${features.join(", ")}.`,
						},
					},
				},
				bindingVersion: "0.1.0",
			},
		},
	};
}

const monitorChannel: JsonObject = {
	address: "/monitor",
	description:
		"The first frame is a snapshot of all sessions. A snapshot of more than about 256 KB is split: its first frame has the field remaining, the other sessions follow in status_update frames with the same field, as fast as the monitor reads, and changes may come between them. When a monitor reads too slowly, it gets only the newest state_report of each session while more than 1 MiB waits, and is closed with 1013 above 8 MiB. A monitor is closed with 1008 when its login ends or its token is removed, when it continues to send after rate_limited (400 times at once, or 10 times per second), or sends more than 100 ping and pong frames at once or 20 per second. After a device is removed, a new snapshot is sent, which replaces everything before it. A monitor that sends subscribe gets summaries instead: at most four frames per second, of at most about 256 KB; after it read too slowly, a whole one again. A monitor that connects to /monitor?summary gets the summary at once, in place of the snapshot, and uses subscribe for the devices of which it needs reports. Snapshots and summaries are compressed for a monitor that offers permessage-deflate. A monitor that connects to /monitor?rollouts also gets rollout_update, one that connects to /monitor?cluster also cluster_update, one that connects to /monitor?lists also list_update, one that connects to /monitor?announcements also announcement_update, and one that connects to /monitor?commands also command_update.",
	bindings: { ws: { method: "GET", bindingVersion: "0.1.0" } },
};

type Messages = Record<string, Message>;

function deviceMessages(): Messages {
	const all: Messages = {};
	for (const name of keysOf(commands)) {
		const { answers: names = ["state_report"], ...document } = commandDocuments[name];
		const description = `The device answers with ${names.join(" or ") || "nothing"}, or with command_error.`;
		all[name] = {
			...document,
			channel: "device",
			action: "send",
			schema: jsonSchemaOf(commands[name]),
			answers: { names: [...names, "command_error"], description },
		};
	}
	for (const name of keysOf(uplinks))
		all[name] = {
			channel: "device",
			action: "receive",
			description: uplinkDescriptions[name],
			example: uplinkExamples[name],
			schema:
				name === "state_report"
					? jsonSchemaByModel(uplinks[name], (model) => ({
							properties: { system: { properties: { model: { const: model } } } },
						}))
					: jsonSchemaOf(uplinks[name]),
		};
	return all;
}

function sentByMonitors(): Messages {
	const all: Messages = {};
	const common = {
		channel: "monitor",
		action: "receive",
		answers: { names: ["ack", "error"], description: "The gateway answers once, with ack or with error." },
	} as const;
	for (const name of keysOf(monitorMessages)) {
		const schema = jsonSchemaOf(monitorMessages[name]);
		// The schema has no type for this: the payload is one of the commands.
		const payload = { properties: { payload: { oneOf: keysOf(commands).map(schemaRef) } } };
		all[name] = {
			...common,
			description: monitorDescriptions[name],
			example: monitorExamples[name],
			schema: name === "control_device" ? { allOf: [schema, payload] } : schema,
		};
	}
	for (const [name, { schema, description, example }] of Object.entries(addedMessages))
		all[name] = { ...common, description, example, schema: jsonSchemaOf(schema) };
	return all;
}

function sentToMonitors(): Messages {
	const all: Messages = {};
	for (const name of keysOf(frames)) {
		const schema = jsonSchemaOf(frames[name]);
		const isAnswer = name === "ack" || name === "error";
		const description = frameDescriptions[name];
		all[name] = { description, channel: "monitor", ...(!isAnswer && { action: "send" }), schema };
	}
	const answered = oneOf(...Object.keys(monitorMessages), ...Object.keys(addedMessages));
	const ack = jsonSchemaOf(closed({ ...frames.ack.fields, command: answered }));
	return { ...all, ack: { description: frameDescriptions.ack, channel: "monitor", schema: ack } };
}

function operation(name: string, { channel, action = "send", description, answers }: Message): JsonObject {
	const messageRef = (message: string) => ({ $ref: `#/channels/${channel}/messages/${message}` });
	return {
		action,
		channel: { $ref: `#/channels/${channel}` },
		messages: [messageRef(name)],
		...(answers && {
			description: `${description} ${answers.description}`,
			reply: { channel: { $ref: `#/channels/${channel}` }, messages: answers.names.map(messageRef) },
		}),
	};
}
