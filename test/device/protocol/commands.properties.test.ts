/**
 * Commands in the device's XS engine and in the gateway: both must agree with each other and with
 * gateway/api/interface.md.
 */

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
import { hasPart } from "../../../device/protocol/models.js";
import {
	isRecord,
	keysOf,
	type Model,
	matches,
	models,
	type Schema,
} from "../../../device/protocol/schema.js";
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

const isInteger = (value: unknown, least: number, most: number) =>
	typeof value === "number" && value % 1 === 0 && value >= least && value <= most;
const isOneOf = (value: unknown, ...allowed: readonly string[]) => allowed.some((each) => each === value);
const isText = (value: unknown, most: number): value is string =>
	typeof value === "string" && [...value].length <= most;

/** Checks a command as gateway/api/interface.md defines it, with this project's limits for texts. */
function isSpecified(value: unknown, of: Model): boolean {
	if (!isRecord(value)) return false;
	switch (value.command) {
		case "set_volume":
			return isInteger(value.value, 0, 100);
		case "query_state":
		case "identify":
		case "restart":
		case "query_crash":
			return true;
		case "clear_crash":
			return isText(value.id, 32) && /^[0-9a-f]+$/.test(value.id);
		case "set_log":
			return isOneOf(value.level, "off", "info") && isInteger(value.seconds, 0, 600);
		case "play_sound":
			return (
				isRecord(value.value) &&
				isSoundId(value.value.id) &&
				isText(value.value.url, 2048) &&
				(value.value.volume === undefined || isInteger(value.value.volume, 0, 100)) &&
				(value.value.ready === undefined || typeof value.value.ready === "boolean") &&
				(value.value.priority === undefined || isOneOf(value.value.priority, "low", "normal", "urgent")) &&
				(value.value.expires === undefined || isInteger(value.value.expires, 1, 86_400)) &&
				(value.value.chime === undefined ||
					isOneOf(value.value.chime, "startup", "wifi_connecting", "wifi_connected", "attention")) &&
				(value.value.chime_volume === undefined || isInteger(value.value.chime_volume, 0, 100))
			);
		case "start_sound":
			return isRecord(value.value) && isSoundId(value.value.id);
		case "stop_sound":
			return (
				value.value === undefined ||
				(isRecord(value.value) && (value.value.id === undefined || isSoundId(value.value.id)))
			);
		case "set_led":
			return isOneOf(value.value, "rainbow", "connecting", "failed", "idle", "updating");
		case "play_audio":
			return isOneOf(value.value, "startup", "wifi_connecting", "wifi_connected", "attention");
		case "set_brightness":
			return typeof value.value === "number" && value.value >= 0 && value.value <= 1;
		case "set_auto_brightness":
			return hasPart(of, "ambientLight") && typeof value.value === "boolean";
		case "set_quiet":
			return value.value === null || areQuietHours(value.value);
		case "set_haptics":
			return hasPart(of, "haptics") && isInteger(value.value, 0, 100);
		case "start_ota":
			return (
				isText(value.url, 2048) &&
				/^https?:\/\/[^/]/.test(value.url) &&
				!/\s/.test(value.url) &&
				(value.cert_pem === undefined || isText(value.cert_pem, 4352)) &&
				(value.signature === undefined || is64Bytes(value.signature)) &&
				(value.patch === undefined || isPatch(value.patch))
			);
		case "set_settings":
			return isChange(value.value);
		default:
			// Later commands are defined by their schema alone.
			return keysOf(commands).some((name) => name === value.command && matches(commands[name], value, of));
	}
}

function isPatch(value: unknown): boolean {
	return (
		isRecord(value) &&
		isText(value.url, 512) &&
		/^https?:\/\/[^/\s]\S*$/.test(value.url) &&
		[value.from, value.to].every((sha256) => isText(sha256, 64) && /^[0-9a-f]{64}$/.test(sha256))
	);
}

function areQuietHours(value: unknown): boolean {
	return (
		isRecord(value) &&
		isText(value.id, 16) &&
		/^[A-Za-z0-9]+$/.test(value.id) &&
		Array.isArray(value.periods) &&
		value.periods.length >= 1 &&
		value.periods.length <= 16 &&
		value.periods.every(
			(period: unknown) =>
				isRecord(period) &&
				isInteger(period.from, 0, 4_294_967_295) &&
				isInteger(period.until, 0, 4_294_967_295),
		) &&
		(value.volume === undefined || isInteger(value.volume, 0, 100)) &&
		(value.brightness === undefined ||
			(typeof value.brightness === "number" && value.brightness >= 0 && value.brightness <= 1)) &&
		(value.only_urgent === undefined || typeof value.only_urgent === "boolean")
	);
}

function isSoundId(value: unknown): boolean {
	return isText(value, 64) && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value);
}

function is64Bytes(value: unknown): boolean {
	const bytes = Buffer.from(String(value), "base64");
	return typeof value === "string" && bytes.length === 64 && bytes.toString("base64") === value;
}

const isName = (text: unknown) => isText(text, 32) && [...text].every((one) => one >= " ");
const isPassword = (text: unknown) =>
	text === "" || (isText(text, 63) && text.length >= 8 && /^[\x20-\x7e]*$/.test(text));

function isChange(value: unknown): boolean {
	if (!isRecord(value)) return false;
	const { ssid, password, ssid2, password2, gateway, token, ca, sntp, ...others } = value;
	const isGiven = (given: unknown, isRight: (text: unknown) => boolean) =>
		given === undefined || isRight(given);
	return (
		Object.keys(others).length === 0 &&
		Object.keys(value).length > 0 &&
		isGiven(ssid, (text) => isName(text) && text !== "") &&
		isGiven(ssid2, isName) &&
		isGiven(password, isPassword) &&
		isGiven(password2, isPassword) &&
		isGiven(
			gateway,
			(text) =>
				isText(text, 256) &&
				/^wss?:\/\/[\w.-]+(:\d{1,5})?(\/[!-~]*)?$/.test(text) &&
				!/^[^/]+\/\/[^/:]*_/.test(text),
		) &&
		isGiven(token, (text) => isText(text, 256) && /^[\x21-\x7e]+$/.test(text)) &&
		isGiven(ca, (text) => isText(text, 4352)) &&
		isGiven(sntp, (text) => isText(text, 253) && /^[A-Za-z0-9.-]*$/.test(text))
	);
}

/** Fields of a command's schema. All others are ignored. */
function known(value: unknown): unknown {
	const name = isRecord(value) ? keysOf(commands).find((each) => each === value.command) : undefined;
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
			assert.equal(checked.rejection === undefined, isSpecified(value, of), "the gateway's verdict");
			if (checked.rejection === undefined) {
				assert.ok(isRecord(value), `not an object: ${JSON.stringify(value)}`);
				assert.deepEqual([did.map((one) => known(asSent(one))), said], [[known(asSent(value))], []]);
				return;
			}
			assert.deepEqual(did, []);
			assert.equal(said.length, 1);
			const uplink = checkUplink(JSON.parse(new TextDecoder("utf8", { fatal: true }).decode(said[0])));
			assert.equal(uplink.problem, undefined);
			assert.ok(uplink.uplink?.type === "command_error", `sent ${uplink.uplink?.type}`);
			assert.deepEqual(
				{ code: uplink.uplink.code, message: uplink.uplink.message },
				{ code: checked.rejection.code, message: checked.rejection.message },
			);
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
	const carryOut = new Map(models.map((each) => [each, commandsFor(each)]));
	const payload = fc.oneof(...schemas.flatMap((schema) => [valid(schema), nearlyValid(schema)]));
	await fc.assert(
		fc.asyncProperty(model, payload, async (of, command) => {
			sent.length = 0;
			const text = JSON.stringify({ type: "control_device", targetId: "d", payload: command });
			const { rejection } = (await carryOut.get(of)?.(parseJson(text))) ?? assert.fail(of);
			if (rejection) {
				assert.ok(
					["invalid_message", "invalid_command", "unsupported_command"].includes(rejection.code),
					`refused with ${rejection.code}`,
				);
				assert.deepEqual(sent, []);
				assert.ok(!isSpecified(command, of) || /bytes of JSON$/.test(rejection.message), rejection.message);
				return;
			}
			assert.equal(sent.length, 1);
			const { did, said, closed } = await xs.hear(of, sent[0] ?? "");
			assert.ok(isRecord(command) && isSpecified(command, of), `accepted an invalid command: ${text}`);
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
