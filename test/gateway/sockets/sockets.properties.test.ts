/** Frames over real sockets: each monitor message gets one response, and uplinks are relayed or dropped. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkUplink, uplinks } from "../../../device/protocol/messages.js";
import { parseJson, wellFormedJson } from "../../../gateway/api/json.js";
import {
	checkMonitorMessage,
	monitorMessages,
	requestIdOf,
} from "../../../gateway/sockets/monitor-commands.js";
import { anyJson, jsonText, mutatedText, nearlyValid, valid } from "../../support/arbitraries.js";
import { runs } from "../../support/property-runs.js";
import { runGateway } from "../../support/running.js";

/** Limits that these properties do not test. */
const limits = { commandBurst: 1e6, uplinkBurst: 1e6, invalidUplinksAMinute: 1e6 };
/** Frame as received from a socket. */
const overWire = (text: string) => Buffer.from(text).toString();
const messages = Object.values(monitorMessages);
const monitorText = fc
	.oneof(
		jsonText(fc.oneof(...messages.map((schema) => valid(schema)))),
		jsonText(fc.oneof(...messages.map((schema) => nearlyValid(schema)))),
		mutatedText(jsonText(valid(monitorMessages.boot_device))),
		jsonText(anyJson),
	)
	.map(overWire);

test("answers each message of a monitor once, with its requestId", async (t) => {
	const gateway = await runGateway(t, { limits });
	const monitor = await gateway.monitor();
	let count = 0;
	await fc.assert(
		fc.asyncProperty(monitorText, async (text) => {
			const value = parseJson(text);
			const answer = await monitor.request(text);
			const checked = checkMonitorMessage(value);
			assert.equal(answer.type, "error", "there is no device");
			assert.equal(answer.requestId, requestIdOf(value));
			assert.equal(answer.code, checked.rejection?.code ?? "unknown_target");
			count += 1;
			const next = await monitor.request({ type: "boot_device", targetId: "x", requestId: String(count) });
			assert.equal(next.requestId, String(count), "one answer each");
		}),
		{ numRuns: runs(200) },
	);
});

test("relays valid messages of devices unchanged, and drops invalid ones", async (t) => {
	const gateway = await runGateway(t, { limits });
	const monitor = await gateway.monitor();
	// Uplinks without a device id come from this device.
	const { ota_progress, ota_error, ota_complete } = uplinks;
	const schemas = [ota_progress, ota_error, ota_complete];
	const { device } = await gateway.namedDevice(monitor);
	const said = fc
		.oneof(
			jsonText(fc.oneof(...schemas.map((schema) => valid(schema)))),
			jsonText(fc.oneof(...schemas.map((schema) => nearlyValid(schema)))),
			jsonText(anyJson),
		)
		.map(overWire);
	let percent = 0;
	await fc.assert(
		fc.asyncProperty(said, async (text) => {
			device.send(text);
			percent = (percent + 1) % 101;
			const mark = {
				type: "ota_progress",
				percent,
				bytes_written: 4_000_000_000,
				bytes_total: 4_000_000_001,
			};
			device.send(mark);
			const relayed: string[] = [];
			for (;;) {
				const frame = await monitor.nextText();
				const { type, message } = JSON.parse(frame);
				if (type !== "device_message" || message.type === "state_report") continue;
				if (message.bytes_total === mark.bytes_total) break;
				relayed.push(frame);
			}
			const value = parseJson(text);
			const isValid = value !== undefined && checkUplink(value).problem === undefined;
			assert.equal(relayed.length, isValid ? 1 : 0);
			if (isValid)
				assert.ok(relayed[0]?.endsWith(`"message":${wellFormedJson(text)}}`), `relayed as ${relayed[0]}`);
		}),
		{ numRuns: runs(200) },
	);
});
