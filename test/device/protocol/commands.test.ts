import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkCommand, commands } from "../../../device/protocol/messages.js";

test("names a rejected value and what is expected", () => {
	for (const [message, expected] of [
		[{ command: "set_volume" }, "set_volume: value is missing"],
		[{ command: "set_volume", value: "50" }, "set_volume: value must be an integer from 0 to 100"],
		[{ command: "set_brightness", value: 1.1 }, "set_brightness: value must be a number from 0 to 1"],
		[
			{ command: "set_led", value: "off" },
			"set_led: value must be one of rainbow, connecting, failed, idle, updating",
		],
	] as const)
		assert.deepEqual(checkCommand(message, "PROTO-1"), {
			rejection: { code: "invalid_value", message: expected },
		});
});

describe("start_ota", () => {
	const url = "http://gateway.local:8080/ota/firmware.bin";

	test("accepts an address and an optional certificate", () => {
		for (const extra of [{}, { cert_pem: "-----BEGIN CERTIFICATE-----" }])
			assert.equal(checkCommand({ command: "start_ota", url, ...extra }, "DEV-1").rejection, undefined);
		assert.equal(checkCommand({ command: "start_ota", url: "https://a/b" }, "DEV-1").rejection, undefined);
	});

	test("rejects other schemes and other types", () => {
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
			assert.equal(
				checkCommand({ command: "start_ota", url: bad }, "DEV-1").rejection?.code,
				"invalid_value",
			);
		assert.equal(checkCommand({ command: "start_ota" }, "DEV-1").rejection?.code, "invalid_value");
		assert.equal(
			checkCommand({ command: "start_ota", url, cert_pem: 1 }, "DEV-1").rejection?.code,
			"invalid_value",
		);
	});
});

test("query_state needs no value", () => {
	assert.deepEqual(checkCommand({ command: "query_state" }), { command: { command: "query_state" } });
});

test("rejects a PROTO-1 command on a DEV-1 as unsupported, and accepts it for an unknown model", () => {
	const message = { command: "set_haptics", value: 50 };
	assert.deepEqual(checkCommand(message, "DEV-1"), {
		rejection: { code: "unsupported", message: "set_haptics exists on PROTO-1 only" },
	});
	assert.deepEqual(checkCommand(message), { command: message });
});

test("rejects an unknown command and lists the known ones", () => {
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
			rejection: {
				code: "unknown_command",
				message: `command must be one of ${Object.keys(commands).join(", ")}`,
			},
		});
});
