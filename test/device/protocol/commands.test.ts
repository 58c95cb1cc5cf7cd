import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CommandName, checkCommand, commands } from "../../../device/protocol/messages.js";
import { modelsWith } from "../../../device/protocol/models.js";
import { commandDocuments } from "../../../gateway/api/commands.js";
import type { Json } from "../../support/sample-report.js";
import { checkField, type Fields, pathsOf } from "./fields.js";

type Message = { [name: string]: Json };

const soundId = {
	accepted: ["a", "dinner-1", "A.b_c-9", "x".repeat(64)],
	rejected: ["", "x".repeat(65), "-a", "a b", "ä", "a/b", 7, null],
};
const address = (longest: number) => ({
	accepted: ["http://a/b", "https://a/b", `http://${"x".repeat(longest - 7)}`],
	rejected: [
		...["http://a/b\r\nX-Header: 1", "http://a/b\n", "http://a/b c", "ftp://a/b", "file:///etc/passwd"],
		...["http://", "http:// a", "http:///", "", 1, null, `http://${"x".repeat(longest - 6)}`],
	],
});
const sha256 = {
	accepted: ["0f".repeat(32)],
	rejected: ["0F".repeat(32), "0".repeat(63), "0".repeat(65), 1, null],
};
const network = (shortest: 0 | 1) => ({
	accepted: ["x".repeat(shortest), " a ", "🎵".repeat(32)],
	rejected: ["x".repeat(33), "a\tb", "\0", ...(shortest > 0 ? [""] : []), 1, null],
});
const password = {
	accepted: ["", "12345678", " ~ ~ ~ ~", "x".repeat(63)],
	rejected: ["1234567", "x".repeat(64), "1234567é", "1234567\t", 1, null],
};
const periods = (count: number) => Array<Json>(count).fill({ from: 1, until: 2 });

/** Fields in a form, by command, with any other fields that they require. */
const patterns: readonly (readonly [name: CommandName, more: Message, fields: Fields])[] = [
	["play_sound", {}, { "value.id": soundId }],
	["start_sound", {}, { "value.id": soundId }],
	["stop_sound", {}, { "value.id": soundId }],
	[
		"set_light",
		{ value: { color: "#ff8800" } },
		{
			"value.color": {
				accepted: ["#00ff00", "#A0b1C2", [0, 128, 255]],
				rejected: ["ff8800", "#ff880", "#gg8800", [0, 0], [0, 0, 0, 0], [0, 0, 256], 1, null],
			},
		},
	],
	[
		"set_quiet",
		{ value: { id: "n1", periods: periods(1) } },
		{
			"value.id": { accepted: ["a", "Z9", "x".repeat(16)], rejected: ["", "x".repeat(17), "a-b", 1, null] },
			"value.periods": {
				accepted: [periods(16), [{ from: 0, until: 4_294_967_295 }]],
				rejected: [[], periods(17), [{ from: 1 }], [{ from: -1, until: 2 }], [1], null],
			},
		},
	],
	[
		"start_ota",
		{ patch: { url: "http://a/b", from: "0f".repeat(32), to: "0f".repeat(32) } },
		{
			url: address(2048),
			signature: {
				accepted: [`${"A".repeat(86)}==`, `${"A".repeat(85)}w==`],
				rejected: [`${"A".repeat(85)}B==`, "A".repeat(88), "", 1, null],
			},
			"patch.url": address(512),
			"patch.from patch.to": sha256,
		},
	],
	[
		"set_settings",
		{ value: { ssid: "a", token: "a" } },
		{
			value: { accepted: [], rejected: [null, {}, { other: "a" }, { sntp: "", other: "a" }] },
			"value.ssid": network(1),
			"value.ssid2": network(0),
			"value.password value.password2": password,
			"value.gateway": {
				accepted: ["ws://a", "wss://a.b-c:65535/device?a=1", `ws://a/${"x".repeat(249)}`],
				rejected: [
					...["http://a", "ws://", "ws://a_b", "ws://a b", "ws://a/b c", `ws://a/${"x".repeat(250)}`],
					...[1, null],
				],
			},
			"value.token": {
				accepted: ["!~", "x".repeat(256)],
				rejected: ["", "a b", "é", "x".repeat(257), 1, null],
			},
			"value.sntp": {
				accepted: ["time.example-1", "x".repeat(253)],
				rejected: ["a_b", "a b", "x".repeat(254), 1, null],
			},
		},
	],
	[
		"clear_crash",
		{},
		{ id: { accepted: ["0", "f".repeat(32)], rejected: ["", "x", "F", "0".repeat(33), 1, null] } },
	],
];

for (const [name, more, fields] of patterns) {
	const message: Message = { ...JSON.parse(JSON.stringify(commandDocuments[name].example)), ...more };
	const problemOf = (command: object) => checkCommand(command, "PROTO-1").rejection?.message;
	for (const field of pathsOf(fields))
		test(`${name} accepts ${field[0]} in its form only`, () => checkField(message, field, problemOf));
}

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

describe("a command", () => {
	test("of a PROTO-1 is unsupported on a DEV-1, and accepted for an unknown model", () => {
		for (const [message, part] of [
			[{ command: "set_haptics", value: 50 }, "haptics"],
			[{ command: "set_auto_brightness", value: true }, "ambientLight"],
		] as const) {
			const reason = `${message.command} exists on ${modelsWith(part)} only`;
			assert.deepEqual(checkCommand(message, "DEV-1"), {
				rejection: { code: "unsupported", message: reason },
			});
			assert.deepEqual(checkCommand(message), { command: message });
		}
	});

	test("that is unknown is rejected with the known ones", () => {
		const message = `command must be one of ${Object.keys(commands).join(", ")}`;
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
			assert.deepEqual(checkCommand(value, "DEV-1"), { rejection: { code: "unknown_command", message } });
	});
});
