import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkUplink, uplinks } from "../../../device/protocol/messages.js";
import { findProblem, object, type Schema } from "../../../device/protocol/schema.js";
import { type Json, sampleReport, withField } from "../../support/sample-report.js";

interface FieldCase {
	readonly path: string;
	readonly accepted: readonly Json[];
	readonly refused: readonly Json[];
	readonly isOptional?: true;
}

const uint32 = { accepted: [0, 4_294_967_295], refused: [-1, 4_294_967_296, 0.5, "1", null, true] };
const percent = { accepted: [0, 100], refused: [-1, 101, 0.5, "50", null, [50]] };
const flag = { accepted: [true, false], refused: [0, 1, "true", null] };
const text = (longest: number) => ({
	accepted: ["", "x".repeat(longest)],
	refused: ["x".repeat(longest + 1), 1, null, false, {}],
});

const reportFields: readonly FieldCase[] = [
	{ path: "type", accepted: ["state_report"], refused: ["state", "", 1, null] },
	{
		path: "deviceId",
		accepted: ["a", "dev-1-a1b2c3", "A.b_c-9", "x".repeat(64)],
		refused: ["", "x".repeat(65), "-a", "../a", "a b", "a/b", "ä", "a\n", 7, null],
	},
	{
		path: "timestamp",
		accepted: ["1970-01-01T00:00:00Z", "2026-11-20T23:59:59.999Z"],
		refused: ["2026-11-20", "2026-11-20T12:00:00", "2026-11-20T12:00:00+01:00", "", 1_700_000_000, null],
	},
	{
		path: "system.mac_address",
		accepted: ["00:00:00:00:00:00", "ff:FF:aB:12:34:56"],
		refused: ["00:00:00:00:00", "00-00-00-00-00-00", "0g:00:00:00:00:00", "", 0, null],
	},
	{ path: "system.model", accepted: ["DEV-1"], refused: ["dev-1", "DEV-2", "", 1, null] },
	{ path: "system.firmware_version", ...text(32) },
	{
		path: "system.image",
		accepted: ["0123456789abcdef"],
		refused: ["", "0123456789ABCDEF", "0123456789abcde", 1, null],
		isOptional: true,
	},
	{ path: "system.idf_version", ...text(32) },
	{ path: "system.cpu_freq_mhz", accepted: [0, 240, 10_000], refused: [-1, 10_001, 240.5, "240", null] },
	{ path: "system.flash_size_mb", accepted: [0, 16, 65_535], refused: [-1, 65_536, 0.5, "16", null] },
	{ path: "system.psram_size_mb", accepted: [0, 8, 65_535], refused: [-1, 65_536, 0.5, "8", null] },
	{
		path: "system.security_version",
		accepted: [0, 65_535],
		refused: [-1, 65_536, 0.5, "1", null],
		isOptional: true,
	},
	{ path: "health.uptime_seconds", ...uint32 },
	{ path: "health.free_heap_bytes", ...uint32 },
	{ path: "health.min_free_heap_bytes", ...uint32 },
	{ path: "health.reset_reason", ...text(64) },
	{ path: "health.safe_mode", ...flag, isOptional: true },
	{ path: "network.wifi_connected", ...flag },
	{ path: "network.wifi_ssid", ...text(32) },
	{ path: "network.wifi_rssi", accepted: [-128, -50, 0], refused: [-129, 1, -50.5, "-50", null] },
	{ path: "network.ip_address", ...text(45) },
	{ path: "network.websocket_connected", ...flag },
	{
		path: "network.bssid",
		accepted: ["00:00:00:00:00:00", "ff:FF:aB:12:34:56"],
		refused: ["", "00-00-00-00-00-00", 0, null],
		isOptional: true,
	},
	{ path: "network.channel", accepted: [1, 233], refused: [0, 234, 1.5, "6", null], isOptional: true },
	{ path: "network.reconnects", ...uint32, isOptional: true },
	{ path: "network.last_loss", ...text(64), isOptional: true },
	{ path: "peripherals.audio.volume", ...percent },
	{
		path: "peripherals.audio.player_state",
		accepted: ["idle", "playing", "paused", "stopped"],
		refused: ["IDLE", "", 0, null],
	},
	{
		path: "peripherals.audio.current_track",
		accepted: ["none", "file:///chimes/startup"],
		refused: ["", "startup", "file://", "none ", 0, null, `file://${"x".repeat(256)}`],
	},
	{ path: "peripherals.led_ring.state_id", accepted: [0, 6], refused: [-1, 7, 0.5, "5", null] },
	{
		path: "peripherals.led_ring.state_name",
		accepted: ["rainbow", "connecting", "failed", "idle", "updating"],
		refused: ["off", "", 5, null],
	},
	{ path: "peripherals.led_ring.brightness_coef", accepted: [0, 0.5, 1], refused: [-0.01, 1.01, "1", null] },
	{ path: "peripherals.buttons.btn_play", ...flag },
	{ path: "peripherals.buttons.btn_mute", ...flag },
	{ path: "peripherals.buttons.btn_vol_up", ...flag },
	{ path: "peripherals.buttons.btn_vol_down", ...flag },
];
const protoFields: readonly FieldCase[] = [
	{ path: "peripherals.haptic_intensity", ...percent },
	{ path: "peripherals.ambient_light", accepted: [0, 4095], refused: [-1, 4096, 0.5, "1", null] },
	{ path: "peripherals.touch_active", ...flag },
];
const groups = ["system", "health", "network", "peripherals"];
const inner = ["peripherals.audio", "peripherals.led_ring", "peripherals.buttons"];

function problemOf(message: Json): string | undefined {
	return checkUplink(message).problem;
}

function checkField(message: { [name: string]: Json }, field: FieldCase): void {
	for (const value of field.accepted)
		assert.equal(problemOf(withField(message, field.path, value)), undefined, JSON.stringify(value));
	for (const value of field.refused) {
		const problem = problemOf(withField(message, field.path, value));
		assert.ok(problem?.includes(field.path), `${JSON.stringify(value)} gave: ${problem}`);
	}
	const missing = problemOf(withField(message, field.path, undefined));
	if (field.isOptional) assert.equal(missing, undefined);
	else assert.ok(missing?.includes(field.path), `missing gave: ${missing}`);
}

describe("state report", () => {
	for (const model of ["DEV-1", "PROTO-1"] as const)
		test(`accepts the sample of a ${model}`, () => {
			assert.deepEqual(checkUplink(sampleReport(model)), { uplink: sampleReport(model) });
		});

	for (const field of reportFields)
		test(`clamps ${field.path} and names it`, () => checkField(sampleReport("DEV-1"), field));

	for (const field of protoFields) {
		test(`of a PROTO-1: clamps ${field.path}`, () => checkField(sampleReport("PROTO-1"), field));
		test(`of a DEV-1: rejects ${field.path}`, () => {
			const value = field.accepted[0] ?? null;
			assert.match(
				problemOf(withField(sampleReport("DEV-1"), field.path, value)) ?? "",
				/exists on PROTO-1 only/,
			);
		});
	}

	for (const path of [...groups, ...inner])
		test(`requires ${path} to be an object`, () => {
			for (const value of [undefined, null, [], "x", 1]) {
				const problem = problemOf(withField(sampleReport("PROTO-1"), path, value));
				assert.ok(problem?.includes(path), `${JSON.stringify(value)} gave: ${problem}`);
			}
		});

	test("accepts unknown fields, so that an old gateway understands a new device", () => {
		assert.equal(problemOf({ ...sampleReport("DEV-1"), humidity: 40 }), undefined);
	});

	test("accepts the first version forever: added fields are optional", () => {
		const known = [...reportFields, ...protoFields].filter(({ isOptional }) => !isOptional);
		const required = requiredIn(uplinks.state_report, "").filter(
			(path) => !known.some((field) => field.path === path),
		);
		assert.deepEqual(required, [], "older firmware does not report these: write optional(…)");
	});
});

/** Paths of the required leaf fields. */
function requiredIn(schema: Schema, path: string): string[] {
	if (schema.optional) return [];
	if (schema.type !== "object") return [path];
	return Object.entries(schema.fields).flatMap(([name, field]) =>
		requiredIn(field, path === "" ? name : `${path}.${name}`),
	);
}

const otherMessages: readonly { message: { [name: string]: Json }; fields: readonly FieldCase[] }[] = [
	{
		message: { type: "ota_progress", percent: 50, bytes_written: 500, bytes_total: 1000 },
		fields: [
			{ path: "percent", ...percent },
			{ path: "bytes_written", ...uint32 },
			{ path: "bytes_total", ...uint32 },
		],
	},
	{ message: { type: "ota_complete" }, fields: [] },
	{
		message: { type: "ota_error", reason: "the server answered 404" },
		fields: [{ path: "reason", ...text(1024) }],
	},
	{
		message: {
			type: "command_error",
			deviceId: "dev-1-a1b2c3",
			command: "set_volume",
			code: "invalid_value",
			message: "value must be an integer from 0 to 100",
		},
		fields: [
			{ path: "deviceId", accepted: ["a"], refused: ["", "a b", 1, null] },
			{ path: "command", ...text(64) },
			{
				path: "code",
				accepted: ["unknown_command", "invalid_value", "unsupported", "busy"],
				refused: ["other", "", 1, null],
			},
			{ path: "message", ...text(1024) },
		],
	},
	{
		message: {
			type: "crash_report",
			deviceId: "dev-1-a1b2c3",
			crash: {
				id: "5f0c21b7",
				kind: "exception",
				message: "",
				stack: "",
				firmware_version: "",
				uptime_seconds: 0,
				trace: "",
			},
		},
		fields: [
			{ path: "deviceId", accepted: ["a"], refused: ["", "a b", 1, null] },
			{ path: "crash.id", accepted: ["0", "f".repeat(32)], refused: ["", "x", "F", "0".repeat(33), 1, null] },
			{
				path: "crash.kind",
				accepted: ["exception", "rejection", "out_of_memory", "watchdog", "panic", "brown_out", "unknown"],
				refused: ["other", "", 1, null],
			},
			{ path: "crash.message", ...text(512) },
			{ path: "crash.stack", ...text(1024) },
			{ path: "crash.firmware_version", ...text(32) },
			{ path: "crash.uptime_seconds", ...uint32 },
			{ path: "crash.trace", ...text(2048) },
		],
	},
	{
		message: { type: "log", deviceId: "dev-1-a1b2c3", seq: 0, dropped: 0, lines: "" },
		fields: [
			{ path: "seq", ...uint32 },
			{ path: "dropped", ...uint32 },
			{ path: "lines", ...text(2048) },
		],
	},
];

test("accepts a crash report without a crash, and a crash without a location", () => {
	const report = { type: "crash_report", deviceId: "dev-1-a1b2c3" };
	assert.equal(problemOf(report), undefined);
	const crash = {
		id: "1a",
		kind: "panic",
		message: "",
		stack: "",
		firmware_version: "",
		uptime_seconds: 0,
		trace: "",
	};
	assert.equal(problemOf({ ...report, crash: { ...crash, file: "device/main.ts", line: 1 } }), undefined);
	assert.match(problemOf({ ...report, crash: { ...crash, line: 0 } }) ?? "", /crash\.line/);
	assert.match(problemOf({ ...report, crash: { ...crash, file: "x".repeat(129) } }) ?? "", /crash\.file/);
	assert.match(problemOf({ ...report, crash: {} }) ?? "", /crash\.id is missing/);
});

for (const { message, fields } of otherMessages)
	describe(`${message.type}`, () => {
		test("accepts the sample", () => assert.equal(problemOf(message), undefined));
		for (const field of fields) test(`clamps ${field.path} and names it`, () => checkField(message, field));
	});

test("rejects an unknown uplink by its type", () => {
	for (const value of [
		null,
		1,
		"x",
		[],
		{},
		{ type: 1 },
		{ type: "boot" },
		{ type: "toString" },
		{ type: "__proto__" },
	])
		assert.match(checkUplink(value).problem ?? "", /^type must be one of state_report, ota_progress/);
});

test("report compatibility: an older gateway accepts the Wi-Fi fields, and this one reports without them", () => {
	const { network, ...others } = uplinks.state_report.fields;
	const { bssid, channel, reconnects, last_loss, ...known } = network.fields;
	const before = object({ ...others, network: object(known) });
	const report = sampleReport("DEV-1");
	assert.equal(findProblem(before, report), undefined);
	let older: { [name: string]: Json } = { ...report };
	for (const name of Object.keys({ bssid, channel, reconnects, last_loss })) {
		assert.ok(name in report.network, name);
		older = withField(older, `network.${name}`, undefined);
	}
	assert.equal(checkUplink(older).problem, undefined);
});
