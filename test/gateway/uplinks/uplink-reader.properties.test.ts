/** Reads uplinks like JSON.parse and checkUplink, independently of earlier bytes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { checkUplink, uplinks } from "../../../device/protocol/messages.js";
import { models } from "../../../device/protocol/schema.js";
import { parseJson } from "../../../gateway/api/json.js";
import { ReportShape } from "../../../gateway/uplinks/report-shape.js";
import { UplinkReader } from "../../../gateway/uplinks/uplink-reader.js";
import { jsonText, mutatedText, nearlyValid, oddText, valid } from "../../support/arbitraries.js";
import { runs } from "../../support/property-runs.js";
import { type Json, sampleReport, withField, withFields } from "../../support/sample-report.js";

const asBytes = (text: string) => Buffer.from(text);
const bytesOf = (value: unknown) => asBytes(JSON.stringify(value));
const base = models.map((model) => JSON.parse(JSON.stringify(sampleReport(model))));
const paths = [
	...["type", "deviceId", "timestamp", "system.model", "system.mac_address", "system.security_version"],
	...["health.uptime_seconds", "health.safe_mode", "network.wifi_ssid", "network.wifi_rssi", "network.bssid"],
	...["peripherals.audio.volume", "peripherals.led_ring.brightness_coef", "peripherals.ambient_light"],
	"other",
];
const value: fc.Arbitrary<Json | undefined> = fc.oneof(
	fc.integer({ min: -200, max: 200 }),
	fc.double({ noNaN: true, noDefaultInfinity: true }),
	fc.constantFrom<Json | undefined>(true, false, null, undefined, "dev-1-b", ...models, -0, 1e21, [1], {
		a: 1,
	}),
	fc.constantFrom("a\\b", 'a"b', "a\nb", "a\u0001b", "é", "", "x".repeat(300)),
	oddText,
);
/** Report with some changed values; most have a known shape. */
const report = fc
	.tuple(fc.constantFrom(...base), fc.array(fc.tuple(fc.constantFrom(...paths), value), { maxLength: 4 }))
	.map(([start, changes]) => changes.reduce((all, [path, to]) => withField(all, path, to), start));
/** Changes one byte, so that the text may not be UTF-8. */
const changedByte = fc.tuple(report, fc.nat(), fc.nat(255)).map(([original, place, byte]) => {
	const bytes = bytesOf(original);
	bytes[place % bytes.length] = byte;
	return bytes;
});
const text = fc.oneof(
	{ weight: 6, arbitrary: report.map(bytesOf) },
	{ weight: 3, arbitrary: changedByte },
	{ weight: 1, arbitrary: report.map((original) => Buffer.from(JSON.stringify(original, undefined, " "))) },
	{ weight: 4, arbitrary: mutatedText(report.map((original) => JSON.stringify(original))).map(asBytes) },
	{
		weight: 1,
		arbitrary: jsonText(
			fc.oneof(...Object.values(uplinks).flatMap((schema) => [valid(schema), nearlyValid(schema)])),
		).map(asBytes),
	},
);

test("reads each text like JSON.parse with validation", () => {
	fc.assert(
		fc.property(fc.array(text, { maxLength: 30 }), (texts) => {
			const reader = new UplinkReader();
			for (const known of base) reader.read(bytesOf(known));
			const handedOut: { readonly read: unknown; readonly expected: unknown }[] = [];
			for (const said of texts) {
				const read = reader.read(said);
				const parsed = parseJson(said.toString());
				const checked = checkUplink(parsed);
				if (read.problem !== undefined) {
					const expected = parsed === undefined ? "not JSON" : checked.problem;
					assert.notEqual(expected, undefined, said.toString());
					// Fields of another model are removed before validation, so something else is invalid too.
					if (!expected?.endsWith(" only")) assert.equal(read.problem, expected);
				} else if (read.droppedFields === 0) {
					assert.equal(checked.problem, undefined, said.toString());
					// Unpaired surrogates are replaced in both.
					assert.deepEqual([read.uplink, JSON.parse(read.text.toString())], [parsed, parsed]);
					handedOut.push({ read: read.uplink, expected: parsed });
				}
			}
			for (const { read, expected } of handedOut) assert.deepEqual(read, expected, "a later text changed it");
		}),
		{ numRuns: runs(1000) },
	);
});

test("reads every report that differs only in values", () => {
	for (const start of base) {
		const shape = ReportShape.of(bytesOf(start), start.system.model);
		const changed = withFields(start, {
			deviceId: "other-1",
			timestamp: "2026-11-20T12:00:05Z",
			"health.uptime_seconds": 7,
			"network.wifi_rssi": -99,
			"network.wifi_ssid": "Café 😀",
			"peripherals.led_ring.brightness_coef": 0.25,
			"peripherals.buttons.btn_play": true,
		});
		assert.deepEqual(shape?.read(bytesOf(changed)), changed);
		const longer = withField(changed, "health.uptime_seconds", 77);
		assert.deepEqual(shape?.read(bytesOf(longer)), longer);
		assert.deepEqual(shape?.read(bytesOf(start)), start);
	}
});

test("falls back to JSON.parse outside the shape", () => {
	const [start] = base;
	const shape = ReportShape.of(bytesOf(start), start.system.model);
	const changes: readonly (readonly [string, Json])[] = [
		["type", "ota_complete"],
		["system.model", "PROTO-1"],
		["network.wifi_ssid", "a\\b"],
		["network.wifi_ssid", 'a"b'],
		["network.wifi_ssid", "a\nb"],
		["network.wifi_ssid", "x".repeat(33)],
		["network.wifi_rssi", 1],
		["network.wifi_rssi", "-50"],
		["deviceId", "-"],
		["other", 1],
	];
	for (const [path, to] of changes)
		assert.equal(shape?.read(bytesOf(withField(start, path, to))), undefined, path);
	const text = JSON.stringify(start);
	for (const damaged of [
		`${text} `,
		text.slice(0, -1),
		text.replace("-50", "-050"),
		text.replace('"home"', '"h\tome"'),
	])
		assert.equal(shape?.read(Buffer.from(damaged)), undefined, damaged);
	assert.deepEqual(shape?.read(Buffer.from(text)), start);
});

test("limits a shape to 4096 bytes when one value grows before another shrinks", () => {
	const [start] = base;
	const [short, long] = ["s", "x".repeat(2800)];
	const early = { early: long, ...start, late: short };
	const late = { early: short, ...start, late: long };
	const shape = ReportShape.of(bytesOf(late), start.system.model);
	assert.equal(shape?.read(bytesOf(early)), undefined);
	for (const variant of [late, { ...late, late: short }, early, { ...early, early: short }, late])
		assert.deepEqual(shape?.read(bytesOf(variant)), variant);
});

test("creates no shape for lists, escapes or duplicate names", () => {
	const [start] = base;
	const model = start.system.model;
	const plain = JSON.stringify(start);
	const texts = [
		JSON.stringify({ ...start, other: [1] }),
		JSON.stringify({ ...start, other: 'a"b' }),
		plain.replace(/\}$/, ',"deviceId":"other"}'),
		plain.replace(/\}$/, ',"__proto__":1}'),
		JSON.stringify({ ...start, other: "x".repeat(4096) }),
	];
	for (const rejected of texts)
		assert.equal(ReportShape.of(Buffer.from(rejected), model), undefined, rejected);
	assert.notEqual(ReportShape.of(Buffer.from(plain), model), undefined);
});

test("drops and counts the fields of another model", () => {
	const [report] = base;
	const foreign = withFields(report, {
		"peripherals.led_ring.auto_brightness": true,
		"peripherals.ambient_light": 100,
	});
	const read = new UplinkReader().read(bytesOf(foreign));
	assert.ok(read.problem === undefined, `rejected: ${read.problem}`);
	assert.deepEqual([JSON.parse(read.text.toString()), read.droppedFields], [report, 2]);
	assert.deepEqual(read.uplink, report);
	const unknown = new UplinkReader().read(bytesOf(withField(foreign, "system.model", "DEV-2")));
	assert.match(String(unknown.problem), /^state_report: system\.model must be/);
});

test("keeps the eight most recently used shapes", (t) => {
	const parse = t.mock.method(JSON, "parse");
	const reader = new UplinkReader();
	const reports = Array.from({ length: 9 }, (_, index) => bytesOf(withField(base[0], `other${index}`, 0)));
	/** Whether a report is read without JSON.parse. */
	const isKnown = (report: Buffer) => {
		const before = parse.mock.callCount();
		assert.equal(reader.read(report).problem, undefined);
		return parse.mock.callCount() === before;
	};
	const [first = Buffer.of(), second, ...others] = reports;
	assert.deepEqual([isKnown(first), isKnown(first)], [false, true], "learned at once");
	const ninth = others.pop() ?? first;
	const learn = (report: Buffer) => {
		for (let count = 0; count < 20 && !isKnown(report); count++);
	};
	for (const report of reports.slice(0, 8)) learn(report);
	assert.ok(isKnown(first), "learned");
	learn(ninth);
	const known = [first, ...others, ninth, second].map((report) => report && isKnown(report));
	assert.deepEqual(known, [...Array(8).fill(true), false]);
});
