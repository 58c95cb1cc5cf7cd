import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkUplink, uplinks } from "../../../device/protocol/messages.js";
import type { Schema } from "../../../device/protocol/schema.js";
import { type Json, sampleReport, withField } from "../../support/sample-report.js";
import {
	checkField,
	type Fields,
	flag,
	integers,
	names,
	optional,
	pathsOf,
	percent,
	share,
	text,
	uint32,
} from "./fields.js";

const deviceId = {
	accepted: ["a", "dev-1-a1b2c3", "A.b_c-9", "x".repeat(64)],
	rejected: ["", "x".repeat(65), "-a", "../a", "a b", "a/b", "ä", "a\n", 7, null],
};
const macAddress = {
	accepted: ["00:00:00:00:00:00", "ff:FF:aB:12:34:56"],
	rejected: ["00:00:00:00:00", "00-00-00-00-00-00", "0g:00:00:00:00:00", "", 0, null],
};

const reportFields: Fields = {
	type: { accepted: ["state_report"], rejected: ["state", "", 1, null] },
	deviceId,
	timestamp: {
		accepted: ["1970-01-01T00:00:00Z", "2026-11-20T23:59:59.999Z"],
		rejected: ["2026-11-20", "2026-11-20T12:00:00", "2026-11-20T12:00:00+01:00", "", 1_700_000_000, null],
	},
	"system.mac_address": macAddress,
	"network.bssid": optional(macAddress),
	"system.model": { accepted: ["DEV-1"], rejected: ["dev-1", "DEV-2", "", 1, null] },
	"system.firmware_version system.idf_version network.wifi_ssid": text(32),
	"system.image": optional({
		accepted: ["0123456789abcdef"],
		rejected: ["", "0123456789ABCDEF", "0123456789abcde", 1, null],
	}),
	"system.cpu_freq_mhz": integers(0, 10_000),
	"system.flash_size_mb system.psram_size_mb": integers(0, 65_535),
	"system.security_version": optional(integers(0, 65_535)),
	"health.uptime_seconds health.free_heap_bytes health.min_free_heap_bytes": uint32,
	"network.reconnects": optional(uint32),
	"health.reset_reason": text(64),
	"network.last_loss": optional(text(64)),
	"network.ip_address": text(45),
	"health.safe_mode": optional(flag),
	"network.wifi_connected network.websocket_connected": flag,
	"peripherals.buttons.btn_play peripherals.buttons.btn_mute": flag,
	"peripherals.buttons.btn_vol_up peripherals.buttons.btn_vol_down": flag,
	"network.wifi_rssi": integers(-128, 0),
	"network.channel": optional(integers(1, 233)),
	"peripherals.audio.volume": percent,
	"peripherals.audio.player_state": names("idle", "playing", "paused", "stopped"),
	"peripherals.audio.current_track": {
		accepted: ["none", "file:///chimes/startup"],
		rejected: ["", "startup", "file://", "none ", 0, null, `file://${"x".repeat(256)}`],
	},
	"peripherals.led_ring.state_id": integers(0, 6),
	"peripherals.led_ring.state_name": names("rainbow", "connecting", "failed", "idle", "updating"),
	"peripherals.led_ring.brightness_coef": share,
};
const protoFields: Fields = {
	"peripherals.haptic_intensity": percent,
	"peripherals.ambient_light": integers(0, 4095),
	"peripherals.touch_active": flag,
};
const groups = ["system", "health", "network", "peripherals"];
const inner = ["peripherals.audio", "peripherals.led_ring", "peripherals.buttons"];

function problemOf(message: Json): string | undefined {
	return checkUplink(message).problem;
}

describe("state report", () => {
	for (const model of ["DEV-1", "PROTO-1"] as const)
		test(`accepts the sample of a ${model}`, () => {
			assert.deepEqual(checkUplink(sampleReport(model)), { uplink: sampleReport(model) });
		});

	for (const field of pathsOf(reportFields))
		test(`clamps ${field[0]} and names it`, () => checkField(sampleReport("DEV-1"), field, problemOf));

	for (const field of pathsOf(protoFields))
		test(`of a PROTO-1 clamps ${field[0]}, which a DEV-1 lacks`, () => {
			checkField(sampleReport("PROTO-1"), field, problemOf);
			const [path, { accepted }] = field;
			assert.match(
				problemOf(withField(sampleReport("DEV-1"), path, accepted[0] ?? null)) ?? "",
				/exists on PROTO-1 only/,
			);
		});

	for (const path of [...groups, ...inner])
		test(`requires ${path} to be an object`, () =>
			checkField(sampleReport("PROTO-1"), [path, { accepted: [], rejected: [null, [], "x", 1] }], problemOf));

	test("accepts unknown fields, so that an old gateway understands a new device", () => {
		assert.equal(problemOf({ ...sampleReport("DEV-1"), humidity: 40 }), undefined);
	});

	test("accepts the first version forever: added fields are optional", () => {
		const known = [...pathsOf(reportFields), ...pathsOf(protoFields)].filter(
			([, { isOptional }]) => !isOptional,
		);
		const required = requiredIn(uplinks.state_report, "").filter(
			(path) => !known.some(([name]) => name === path),
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

const crash = {
	id: "5f0c21b7",
	kind: "exception",
	message: "",
	stack: "",
	firmware_version: "",
	uptime_seconds: 0,
	trace: "",
};
const device = { deviceId: "dev-1-a1b2c3" };
const rejection = { command: "set_volume", code: "invalid_value", message: "value must be from 0 to 100" };

const otherMessages: readonly (readonly [message: { readonly [name: string]: Json }, fields: Fields])[] = [
	[
		{ type: "ota_progress", percent: 50, bytes_written: 500, bytes_total: 1000 },
		{ percent, "bytes_written bytes_total": uint32 },
	],
	[{ type: "ota_complete" }, {}],
	[{ type: "ota_error", reason: "the server answered 404" }, { reason: text(1024) }],
	[
		{ type: "command_error", ...device, ...rejection },
		{
			deviceId,
			command: text(64),
			code: names("unknown_command", "invalid_value", "unsupported", "busy"),
			message: text(1024),
		},
	],
	[
		{ type: "crash_report", ...device, crash },
		{
			deviceId,
			"crash.id": { accepted: ["0", "f".repeat(32)], rejected: ["", "x", "F", "0".repeat(33), 1, null] },
			"crash.kind": names(
				...["exception", "rejection", "out_of_memory", "watchdog", "panic", "brown_out", "unknown"],
			),
			"crash.message": text(512),
			"crash.stack": text(1024),
			"crash.firmware_version": text(32),
			"crash.uptime_seconds": uint32,
			"crash.trace": text(2048),
			"crash.file": optional(text(128)),
			"crash.line": optional(integers(1, 1_000_000)),
			crash: optional({ accepted: [], rejected: [null, 1] }),
		},
	],
	[
		{ type: "log", ...device, seq: 0, dropped: 0, lines: "" },
		{ "seq dropped": uint32, lines: text(2048) },
	],
];

for (const [message, fields] of otherMessages)
	describe(`${message.type}`, () => {
		test("accepts the sample", () => assert.equal(problemOf(message), undefined));
		for (const field of pathsOf(fields))
			test(`clamps ${field[0]} and names it`, () => checkField(message, field, problemOf));
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
