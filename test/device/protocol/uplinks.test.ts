import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkUplink, uplinks } from "../../../device/protocol/messages.js";
import type { Schema } from "../../../device/protocol/schema.js";
import { asyncApiDocument } from "../../../scripts/api/asyncapi.js";
import { ApiDocument } from "../../gateway/api/schemas.js";
import { type Json, sampleReport, withField } from "../../support/sample-report.js";
import { checkField, type Fields, pathsOf } from "./fields.js";

const macAddress = {
	accepted: ["00:00:00:00:00:00", "ff:FF:aB:12:34:56"],
	rejected: ["00:00:00:00:00", "00-00-00-00-00-00", "0g:00:00:00:00:00", "", 0, null],
};
const patterns: Fields = {
	deviceId: {
		accepted: ["a", "dev-1-a1b2c3", "A.b_c-9", "x".repeat(64)],
		rejected: ["", "x".repeat(65), "-a", "../a", "a b", "a/b", "ä", "a\n", 7, null],
	},
	timestamp: {
		accepted: ["1970-01-01T00:00:00Z", "2026-11-20T23:59:59.999Z"],
		rejected: ["2026-11-20", "2026-11-20T12:00:00", "2026-11-20T12:00:00+01:00", "", 1_700_000_000, null],
	},
	"system.mac_address": macAddress,
	"network.bssid": macAddress,
	"system.image": {
		accepted: ["0123456789abcdef"],
		rejected: ["", "0123456789ABCDEF", "0123456789abcde", 1, null],
	},
	"peripherals.audio.current_track": {
		accepted: ["none", "file:///chimes/startup"],
		rejected: ["", "startup", "file://", "none ", 0, null, `file://${"x".repeat(256)}`],
	},
};
/** Required fields of the first version, by object. */
const firstVersion = {
	"": "type deviceId timestamp",
	"system.": "mac_address model firmware_version idf_version cpu_freq_mhz flash_size_mb psram_size_mb",
	"health.": "uptime_seconds free_heap_bytes min_free_heap_bytes reset_reason",
	"network.": "wifi_connected wifi_ssid wifi_rssi ip_address websocket_connected",
	"peripherals.audio.": "volume player_state current_track",
	"peripherals.led_ring.": "state_id state_name brightness_coef",
	"peripherals.buttons.": "btn_play btn_mute btn_vol_up btn_vol_down",
	"peripherals.": "haptic_intensity ambient_light touch_active",
};

function problemOf(message: Json): string | undefined {
	return checkUplink(message).problem;
}

describe("state report", () => {
	for (const field of pathsOf(patterns))
		test(`accepts ${field[0]} in its form only`, () => checkField(sampleReport("DEV-1"), field, problemOf));

	test("of a DEV-1 has no field of a PROTO-1", () => {
		const document = new ApiDocument(asyncApiDocument());
		for (const [path, value] of [
			["peripherals.haptic_intensity", 0],
			["peripherals.ambient_light", 0],
			["peripherals.touch_active", false],
		] as const) {
			const report = withField(sampleReport("DEV-1"), path, value);
			assert.match(problemOf(report) ?? "", /exists on PROTO-1.* only/);
			assert.notEqual(document.problemOf(report, "components", "schemas", "state_report"), undefined);
		}
	});

	test("accepts unknown fields, so that an old gateway understands a new device", () => {
		assert.equal(problemOf({ ...sampleReport("DEV-1"), humidity: 40 }), undefined);
	});

	test("accepts the first version forever: added fields are optional", () => {
		const known = Object.entries(firstVersion).flatMap(([path, names]) =>
			names.split(" ").map((name) => path + name),
		);
		const required = requiredIn(uplinks.state_report, "").filter((path) => !known.includes(path));
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
