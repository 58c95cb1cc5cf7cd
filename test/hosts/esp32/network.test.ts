/** Network parts of a board over fakes of the SDK's. */

import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { Bench, loadBoard } from "./board-bench.js";

async function start() {
	const bench = new Bench();
	const { network } = await loadBoard("dev-1", bench);
	return { bench, network };
}

describe("TLS", () => {
	const tls = "embedded:io/socket/tcp/tls";
	// Uint8Array.fromBase64, which Node before 25 lacks.
	before(() =>
		Reflect.set(Uint8Array, "fromBase64", (text: string) => new Uint8Array(Buffer.from(text, "base64"))),
	);

	for (const [part, client] of [
		["wss", "embedded:network/websocket/client"],
		["https", "embedded:network/http/client"],
	] as const)
		test(`of ${part} trusts the given authority or no one, resumes no session and guards its callbacks`, async () => {
			const { bench, network } = await start();
			bench.answers.set(`${tls} read`, new Error("bad frame"));
			for (const certificate of [undefined, "MAMCAQU="]) {
				const common = { host: "gateway", port: 443, certificate, dns: { io: network.dns } };
				const ignore = () => {};
				const callbacks = { onReadable: ignore, onWritable: ignore, onControl: ignore, onClose: ignore };
				new network[part]({ ...common, ...callbacks, path: "/", headers: [], onError: ignore });
				const options = Object(bench.optionsOf(client).socket);
				let errors = 0;
				const owner = {
					onReadable: () => {
						throw new Error("bad frame");
					},
					onError: () => {
						errors += 1;
					},
				};
				// The SDK's clients create it.
				new options.io({ ...options, ...owner });
				const { secure, onReadable } = bench.optionsOf(tls);
				const authority = certificate && { certificate: Uint8Array.of(0x30, 0x03, 0x02, 0x01, 0x05) };
				assert.deepEqual(secure, { cache: false, onUntrusted: undefined, ...authority });
				assert.ok(typeof onReadable === "function", "no callback");
				onReadable(1);
				assert.equal(errors, 1);
			}
			assert.match(bench.traced.join(""), /bad frame/);
		});
});

test("Wi-Fi reports why a connection failed or ended, by ESP-IDF's reasons", async () => {
	const { bench, network } = await start();
	const station = new network.wifi({ onChanged: () => {} });
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
		Object.assign(bench.natives, { board_wifi_reason: reason, board_wifi_has_joined: hasJoined });
		assert.equal(station.reason, expected, `${reason}, joined ${hasJoined}`);
	}
});

describe("name lookup", () => {
	async function look(host: string, failure?: Error) {
		const { bench, network } = await start();
		bench.answers.set("net resolve", failure);
		const heard: string[] = [];
		const onResolved = (name: string, address: string) => heard.push(`${name} ${address}`);
		new network.dns({}).resolve({ host, onResolved, onError: () => heard.push("error") });
		assert.deepEqual(heard, [], "in a later turn");
		bench.runTimers();
		return { bench, heard };
	}

	test("of an address sends no query", async () => {
		const { bench, heard } = await look("192.168.1.20");
		assert.deepEqual([heard, bench.calls], [["192.168.1.20 192.168.1.20"], []]);
	});

	test("reports a failure to start", async () => {
		assert.deepEqual((await look("gateway", new Error("no network"))).heard, ["error"]);
	});
});

describe("time query", () => {
	async function ask(failure?: Error) {
		const { bench, network } = await start();
		bench.values.set("sntp time", 1).set("sntp error", -1);
		bench.answers.set("sntp new", failure);
		const heard: (number | undefined)[] = [];
		const query = new network.time({ server: undefined, onTime: (seconds) => heard.push(seconds) });
		const [, answer] = bench.made.get("sntp") ?? [];
		assert.ok(typeof answer === "function", "no SNTP client was started");
		return { bench, heard, query, answer };
	}

	test("reports only the first response", async () => {
		const { heard, answer } = await ask();
		answer(2);
		answer(1, 1_790_000_000);
		answer(-1);
		assert.deepEqual(heard, [1_790_000_000]);
	});

	test("reports in a later turn if it cannot be sent", async () => {
		const { bench, heard } = await ask(new Error("no network"));
		assert.deepEqual(heard, []);
		bench.runTimers();
		assert.deepEqual(heard, [undefined]);
	});

	test("reports nothing after close, and closes once", async () => {
		const { bench, heard, query, answer } = await ask();
		query.close();
		query.close();
		answer(1, 1_790_000_000);
		assert.deepEqual(heard, []);
		assert.equal(bench.calls.filter((call) => call === "sntp close").length, 1);
	});
});
