/** Commands in the device's XS engine and in the gateway, which must agree. commands.test.ts checks each field. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
	checkCommand,
	checkUplink,
	commands,
	features,
	maxCommandBytes,
} from "../../../device/protocol/messages.js";
import { isRecord, keysOf, type Model, models, type Schema } from "../../../device/protocol/schema.js";
import { parseJson } from "../../../gateway/api/json.js";
import { Device, Session } from "../../../gateway/sessions/device.js";
import { monitorCommands } from "../../../gateway/sockets/monitor-commands.js";
import { createLog } from "../../../gateway/telemetry/log.js";
import { anyJson, jsonText, mutatedText, nearlyValid, oddText, valid } from "../../support/arbitraries.js";
import { runs } from "../../support/property-runs.js";
import { startXsParsers } from "./xs-parsers.js";

const model = fc.constantFrom(...models);
const schemas = Object.values(commands);
const commandText = fc.oneof(
	{ weight: 3, arbitrary: jsonText(fc.oneof(...schemas.map((schema) => valid(schema)))) },
	{ weight: 6, arbitrary: jsonText(fc.oneof(...schemas.map((schema) => nearlyValid(schema)))) },
	{ weight: 2, arbitrary: mutatedText(jsonText(fc.oneof(...schemas.map((schema) => valid(schema))))) },
	{ weight: 1, arbitrary: jsonText(fc.record({ command: oddText, value: anyJson }, { requiredKeys: [] })) },
	{ weight: 1, arbitrary: jsonText(anyJson) },
);

/** Fields of a command's schema. All others are ignored. */
function known(value: unknown): unknown {
	const name = isRecord(value) ? keysOf(commands).find((known) => known === value.command) : undefined;
	return name ? fieldsIn(commands[name], value) : value;
}

function fieldsIn(schema: Schema, value: unknown): unknown {
	if (schema.type !== "object" || !isRecord(value)) return value;
	return Object.fromEntries(
		Object.entries(schema.fields).map(([name, field]) => [name, fieldsIn(field, value[name])]),
	);
}

/** Value after the gateway's serialization: -0 becomes 0, and half a surrogate pair U+FFFD. */
const asSent = (value: unknown): unknown => parseJson(JSON.stringify(value));

test("device and gateway validate each command as specified, and the device executes it", async (t) => {
	const xs = await startXsParsers(t);
	await fc.assert(
		fc.asyncProperty(model, commandText, fc.integer({ min: 1, max: 3000 }), async (of, text, pieceBytes) => {
			fc.pre(Buffer.byteLength(text) <= maxCommandBytes && !exceedsHeap(text));
			const value = parseJson(Buffer.from(text).toString());
			const { did, said, closed } = await xs.hear(of, text, pieceBytes);
			if (value === undefined) {
				assert.match(closed ?? "", /sent an invalid message/);
				assert.deepEqual([did, said], [[], []]);
				return;
			}
			assert.equal(closed, undefined);
			const checked = checkCommand(value, of);
			if (checked.rejection === undefined) {
				assert.ok(isRecord(value), `not an object: ${JSON.stringify(value)}`);
				assert.deepEqual([did.map((command) => known(asSent(command))), said], [[known(asSent(value))], []]);
				return;
			}
			assert.deepEqual(did, []);
			assert.equal(said.length, 1);
			const uplink = checkUplink(JSON.parse(new TextDecoder("utf8", { fatal: true }).decode(said[0])));
			assert.equal(uplink.problem, undefined);
			assert.ok(uplink.uplink?.type === "command_error", `sent ${uplink.uplink?.type}`);
			const { command: commandName } = isRecord(value) ? value : {};
			// In code points.
			const command = typeof commandName === "string" ? [...commandName].slice(0, 64).join("") : "";
			const { type: _type, deviceId: _id, ...rejection } = uplink.uplink;
			assert.deepEqual(asSent(rejection), { command, ...checked.rejection });
		}),
		{ numRuns: runs(1000) },
	);
});

test("rejects control characters in a Wi-Fi network name, in XS as in the gateway", async (t) => {
	const xs = await startXsParsers(t);
	for (let code = 0; code <= 0x20; code += 1)
		for (const ssid of ["?", "?b", "a?", "a?b", "🎵?"]) {
			const name = ssid.replace("?", String.fromCharCode(code));
			const value = { ssid: name, ssid2: name };
			const command = { command: "set_settings", value };
			const { did } = await xs.hear("DEV-1", JSON.stringify(command), 3000);
			assert.deepEqual(did, code < 0x20 ? [] : [command]);
			assert.equal(checkCommand(command, "DEV-1").rejection === undefined, code === 0x20);
		}
});

test("the device executes each acknowledged command; a rejected one reaches no device", async (t) => {
	const xs = await startXsParsers(t);
	const sent: string[] = [];
	const link = { send: (text: string) => void sent.push(text), isOpen: () => true, close: () => {} };
	const commandsFor = (of: Model) => {
		const session = new Session(
			{ deviceId: "d", isBound: false, model: of, chip: undefined, features, remoteAddress: "", baseUrl: "" },
			link,
			0,
		);
		new Device("d", session).model = of;
		const updates = { trigger: async () => undefined };
		return monitorCommands({ find: () => session, end: () => {} }, updates, createLog("silent"));
	};
	const carryOut = new Map(models.map((model) => [model, commandsFor(model)]));
	const payload = fc.oneof(...schemas.flatMap((schema) => [valid(schema), nearlyValid(schema)]));
	await fc.assert(
		fc.asyncProperty(model, payload, async (of, command) => {
			sent.length = 0;
			const text = JSON.stringify({ type: "control_device", targetId: "d", payload: command });
			const { rejection } = (await carryOut.get(of)?.(parseJson(text))) ?? assert.fail(of);
			if (rejection) {
				assert.ok(
					["invalid_message", "invalid_command", "unsupported_command"].includes(rejection.code),
					`rejected with ${rejection.code}`,
				);
				assert.deepEqual(sent, []);
				const isValid = checkCommand(command, of).rejection === undefined;
				assert.ok(!isValid || /bytes of JSON$/.test(rejection.message), rejection.message);
				return;
			}
			assert.equal(sent.length, 1);
			const { did, said, closed } = await xs.hear(of, sent[0] ?? "");
			assert.equal(checkCommand(command, of).rejection, undefined, text);
			assert.deepEqual([did.map(known), said, closed], [[known(asSent(command))], [], undefined]);
		}),
		{ numRuns: runs(1000) },
	);
});

/** Whether the value may exceed the device's heap (json-limits.ts), counted on the parsed value. */
function exceedsHeap(text: string): boolean {
	let count = 1;
	JSON.stringify(parseJson(text), (_name, value: unknown) => {
		count += 1;
		return value;
	});
	return count > 30;
}
