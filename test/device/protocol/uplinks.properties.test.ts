/** Uplinks: the gateway accepts exactly what a device sends. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkUplink, uplinks } from "../../../device/protocol/messages.js";
import { findProblem, isRecord, models } from "../../../device/protocol/schema.js";
import { parseJson } from "../../../gateway/api/json.js";
import { keptReport } from "../../../gateway/sessions/device.js";
import { anyJson, jsonText, mutatedText, nearlyValid, valid } from "../../support/arbitraries.js";
import { runs } from "../../support/property-runs.js";
import { powerOn, runScriptedGateway } from "../../support/scripted-gateway.js";
import { pass } from "../../support/virtual-time.js";

const model = fc.constantFrom(...models);
const schemas = Object.values(uplinks);
/** Checks an uplink. A report is checked for the model that it names. */
const validUplink = fc.oneof(
	...models.flatMap((of) =>
		schemas.map((schema) =>
			valid(schema, of).map((uplink) =>
				isRecord(uplink) && isRecord(uplink.system)
					? { ...uplink, system: { ...uplink.system, model: of } }
					: uplink,
			),
		),
	),
);
const anyUplink = fc.oneof(
	validUplink,
	...models.flatMap((of) => schemas.map((schema) => nearlyValid(schema, of))),
);

test("accepts every uplink of the table and stores it with all fields unchanged", () => {
	fc.assert(
		fc.property(validUplink, (uplink) => {
			const text = JSON.stringify(uplink);
			const checked = checkUplink(JSON.parse(text));
			assert.equal(checked.problem, undefined);
			assert.deepEqual(checked.uplink, JSON.parse(text));
			if (checked.uplink.type === "state_report")
				assert.deepEqual(
					JSON.parse(keptReport(checked.uplink, Buffer.from(text)).toString()),
					checked.uplink,
				);
		}),
		{ numRuns: runs(1000) },
	);
});

test("accepts any other uplink only if each field is valid, and never throws", () => {
	const text = fc.oneof(jsonText(anyUplink), mutatedText(jsonText(validUplink)), jsonText(anyJson));
	fc.assert(
		fc.property(text, (said) => {
			const checked = checkUplink(parseJson(said));
			if (checked.problem !== undefined) return void assert.match(checked.problem, /\S/);
			const kept: unknown = JSON.parse(
				checked.uplink.type === "state_report"
					? keptReport(checked.uplink, Buffer.from(said)).toString()
					: said,
			);
			assert.equal(findProblem(uplinks[checked.uplink.type], kept), undefined);
		}),
		{ numRuns: runs(3000) },
	);
});

/** Inputs from people, the network and earlier firmware. */
const deed = fc.oneof(
	fc.record({ button: fc.constantFrom("play", "mute", "volumeUp", "volumeDown"), pressed: fc.boolean() }),
	fc.record({ light: fc.double({ noNaN: true }) }),
	fc.record({ touch: fc.boolean() }),
	fc.record({
		command: fc.constantFrom("set_volume", "set_brightness", "set_haptics", "set_led", "play_audio"),
		value: fc.oneof(
			fc.integer({ min: -1, max: 101 }),
			fc.double({ min: 0, max: 1, noNaN: true }),
			fc.constantFrom("idle", "startup", "updating"),
		),
	}),
	fc.record({ passMs: fc.integer({ min: 1, max: 6000 }) }),
);
const keptNumber = fc.oneof(
	fc.double().map(String),
	fc.string(),
	fc.constantFrom("", "5.5", "-0", "0x10", " 7 ", "1e-320", "Infinity", "101"),
);

test("reports are valid with any stored settings and inputs", async (t) => {
	const gateway = await runScriptedGateway(t);
	const kept = fc.record({
		volume: keptNumber,
		audible: keptNumber,
		brightness: keptNumber,
		clock: keptNumber,
		codec: keptNumber,
	});
	await fc.assert(
		fc.asyncProperty(model, kept, fc.array(deed, { maxLength: 12 }), async (of, numbers, deeds) => {
			const settings = { gateway: gateway.url, token: "t", ...numbers };
			const device = await powerOn(t, gateway, of, { clock: "virtual", settings });
			const connection = await gateway.connection();
			await connection.next("state_report");
			for (const done of deeds) {
				if ("button" in done) device.board.setButton(done.button, done.pressed);
				if ("light" in done) device.board.light = done.light;
				if ("touch" in done) device.board.isTouched = done.touch;
				if ("command" in done) connection.send(done);
				if ("passMs" in done) await pass(device, done.passMs);
			}
			await connection.query();
			assert.deepEqual(gateway.invalidUplinks.splice(0), []);
			await device.close();
		}),
		{ numRuns: runs(15) },
	);
});
