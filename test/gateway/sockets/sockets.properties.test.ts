/** Frames over real sockets: each monitor message gets one response, and uplinks are relayed or dropped. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseJson } from "../../../gateway/api/json.js";
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
