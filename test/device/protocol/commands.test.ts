import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkCommand, commands } from "../../../device/protocol/messages.js";
import type { Json } from "../../support/sample-report.js";

const valueCases: Readonly<Record<string, { accepted: readonly Json[]; refused: readonly Json[] }>> = {
	set_volume: { accepted: [0, 100], refused: [-1, 101, 0.5, "50", null, true, [1]] },
	set_led: {
		accepted: ["rainbow", "connecting", "failed", "idle", "updating"],
		refused: ["off", "Rainbow", "", 5, null],
	},
	play_audio: {
		accepted: ["startup", "wifi_connecting", "wifi_connected"],
		refused: ["shutdown", "", "../startup", 0, null],
	},
	set_brightness: { accepted: [0, 0.35, 1], refused: [-0.001, 1.001, "1", null, false] },
	set_haptics: { accepted: [0, 100], refused: [-1, 101, 0.5, "50", null] },
};

for (const [command, { accepted, refused }] of Object.entries(valueCases))
	describe(command, () => {
		test("accepts its range, both limits included", () => {
			for (const value of accepted)
				assert.deepEqual(checkCommand({ command, value }, "PROTO-1"), { command: { command, value } });
		});
		test("refuses values just outside, of another type or missing, and says what is expected", () => {
			for (const message of [...refused.map((value) => ({ command, value })), { command }]) {
				const { refusal } = checkCommand(message, "PROTO-1");
				assert.equal(refusal?.code, "invalid_value", JSON.stringify(message));
				assert.match(refusal.message, new RegExp(`^${command}: value (must be|is missing)`));
			}
		});
	});

describe("start_ota", () => {
	const url = "http://gateway.local:8080/ota/firmware.bin";

	test("accepts an address, and an optional certificate", () => {
		for (const extra of [{}, { cert_pem: "-----BEGIN CERTIFICATE-----" }])
			assert.equal(checkCommand({ command: "start_ota", url, ...extra }, "DEV-1").refusal, undefined);
		assert.equal(checkCommand({ command: "start_ota", url: "https://a/b" }, "DEV-1").refusal, undefined);
	});

	test("refuses other schemes and other types", () => {
		for (const bad of [
			"http://a/b\r\nX-Header: 1",
			"http://a/b\n",
			"http://a/b c",
			"ftp://a/b",
			"file:///etc/passwd",
			"http://",
			"http:// a",
			"",
			1,
			null,
			`http://${"x".repeat(2048)}`,
		])
			assert.equal(checkCommand({ command: "start_ota", url: bad }, "DEV-1").refusal?.code, "invalid_value");
		assert.equal(checkCommand({ command: "start_ota" }, "DEV-1").refusal?.code, "invalid_value");
		assert.equal(
			checkCommand({ command: "start_ota", url, cert_pem: 1 }, "DEV-1").refusal?.code,
			"invalid_value",
		);
	});
});

test("query_state needs no value", () => {
	assert.deepEqual(checkCommand({ command: "query_state" }), { command: { command: "query_state" } });
});

test("a command of the PROTO-1 is unsupported on a DEV-1, and accepted for an unknown model", () => {
	const message = { command: "set_haptics", value: 50 };
	assert.deepEqual(checkCommand(message, "DEV-1"), {
		refusal: { code: "unsupported", message: "set_haptics exists on PROTO-1 only" },
	});
	assert.deepEqual(checkCommand(message), { command: message });
});

test("an unknown command is refused with the names of those that exist", () => {
	for (const value of [
		null,
		1,
		"x",
		[],
		{},
		{ command: 1 },
		{ command: "reboot" },
		{ command: "constructor" },
	])
		assert.deepEqual(checkCommand(value, "DEV-1"), {
			refusal: {
				code: "unknown_command",
				message: `command must be one of ${Object.keys(commands).join(", ")}`,
			},
		});
});
