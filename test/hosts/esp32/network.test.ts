/** Network parts of a board over fakes of the SDK's. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { load, loadClass } from "../load.js";

/** Timers that a test runs. */
function makeTimers() {
	const callbacks: (() => void)[] = [];
	const run = () => {
		for (const callback of callbacks.splice(0)) callback();
	};
	return { run, timer: { set: (callback: () => void) => callbacks.push(callback) } };
}

describe("TLS", () => {
	// Uint8Array.fromBase64, which Node before 25 lacks.
	before(() =>
		Reflect.set(Uint8Array, "fromBase64", (text: string) => new Uint8Array(Buffer.from(text, "base64"))),
	);

	test("trusts the given authority or no one, and resumes no session", async () => {
		const made: unknown[] = [];
		class Tls {
			constructor({ secure }: { secure: object }) {
				made.push(secure);
			}
		}
		const Socket = await loadClass("SecureSocket", "esp32/sockets.ts", {
			"embedded:io/socket/tcp": class {},
			"embedded:io/socket/tcp/tls": Tls,
		});
		for (const certificate of [undefined, "MAMCAQU="]) new Socket({ certificate });
		const untrusting = { cache: false, onUntrusted: undefined };
		const certificate = Uint8Array.of(0x30, 0x03, 0x02, 0x01, 0x05);
		assert.deepEqual(made, [untrusting, { ...untrusting, certificate }]);
	});
});

test("Wi-Fi reports why a connection failed or ended, by ESP-IDF's reasons", async () => {
	let failure = { reason: 0, hasJoined: 0 };
	const FFI = class {
		board_wifi_watch() {}
		esp_wifi_set_ps = () => 0;
		board_wifi_reason = () => failure.reason;
		board_wifi_has_joined = () => failure.hasJoined;
	};
	const fakes = { "embedded:network/interface/wifi": class {}, "mc/ffi": FFI };
	const Station = await loadClass("WiFiStation", "esp32/wifi-station.ts", fakes);
	const station = new Station({});
	const wrong = "wrong_password";
	const ended = "ended_by_access_point";
	for (const [reason, hasJoined, expected] of [
		[0, 1, undefined],
		[2, 1, ended],
		[2, 0, wrong],
		[205, 1, ended],
		[205, 0, wrong],
		[8, 0, ended],
		...[15, 202, 204].map((reason) => [reason, 1, wrong] as const),
		...[201, 210, 211, 212].map((reason) => [reason, 1, "no_access_point"] as const),
		[200, 1, "signal_lost"],
	] as const) {
		failure = { reason, hasJoined };
		assert.equal(station.reason, expected, `${reason}, joined ${hasJoined}`);
	}
});

describe("name lookup", () => {
	async function look(host: string) {
		const { timer, run } = makeTimers();
		const heard: unknown[] = [];
		const fail = () => {
			throw new Error("no network");
		};
		const { resolve } = await load("esp32/network.ts", { timer, net: { resolve: fail }, sntp: {} });
		assert.ok(typeof resolve === "function", "no function resolve");
		resolve(host, (address: unknown) => heard.push(address));
		assert.deepEqual(heard, [], "in a later turn");
		run();
		return heard;
	}

	test("of an address sends no query", async () =>
		assert.deepEqual(await look("192.168.1.20"), ["192.168.1.20"]));

	test("reports a failure to start", async () => assert.deepEqual(await look("gateway"), [undefined]));
});

describe("time query", () => {
	async function ask({ fails = false } = {}) {
		const { timer, run } = makeTimers();
		const heard: (number | undefined)[] = [];
		let answer: (message: number, seconds?: number) => void = () => {};
		let closed = 0;
		const sntp = class {
			static readonly time = 1;
			static readonly error = -1;
			constructor(_options: object, callback: typeof answer) {
				if (fails) throw new Error("no network");
				answer = callback;
			}
			close = () => closed++;
		};
		const Query = await loadClass("SntpQuery", "esp32/network.ts", { timer, net: {}, sntp });
		const query = new Query({ onTime: (seconds: number | undefined) => heard.push(seconds) });
		return { heard, query, run, answer, closed: () => closed };
	}

	test("reports only the first response", async () => {
		const { heard, answer } = await ask();
		answer(2);
		answer(1, 1_790_000_000);
		answer(-1);
		assert.deepEqual(heard, [1_790_000_000]);
	});

	test("reports in a later turn if it cannot be sent", async () => {
		const { heard, run } = await ask({ fails: true });
		assert.deepEqual(heard, []);
		run();
		assert.deepEqual(heard, [undefined]);
	});

	test("reports nothing after close, and closes once", async () => {
		const { heard, query, answer, closed } = await ask();
		query.close?.();
		query.close?.();
		answer(1, 1_790_000_000);
		assert.deepEqual([heard, closed()], [[], 1]);
	});
});

test("a ring sends the colors in its order", async () => {
	const Ring = await loadClass("Ring", "esp32/peripherals.ts", {
		...Object.fromEntries(
			["analog", "audio/out", "digital", "pwm"].map((name) => [`embedded:io/${name}`, class {}]),
		),
		"mc/ffi": class {
			board_ring_open = () => 0;
		},
	});
	for (const [order, sent] of [
		[undefined, 0x02_3f_80],
		["RGB", 0x3f_02_80],
		["BRG", 0x80_3f_02],
	] as const)
		assert.equal(new Ring({ pin: 21, length: 12, order }).makeRGB?.(0x3f, 0x02, 0x80), sent, order);
});
