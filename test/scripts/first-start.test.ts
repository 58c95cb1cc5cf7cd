import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { endOfClose, endOfRejection } from "../../device/network/connection-end.js";
import { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";
import { resultOf, watchFirstStart } from "../../scripts/boards/first-start.js";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { waitUntil } from "../support/eventually.js";
import { deviceToken, runGateway } from "../support/running.js";
import { openSerialLine, serialLineMissing } from "../support/serial-line.js";

describe("recognizes in the trace of a device that", () => {
	const cases: readonly (readonly [string, (url: string) => Record<string, string>, boolean])[] = [
		["it is connected", () => ({}), true],
		["it has no settings", () => ({ ssid: "", gateway: "" }), false],
		["the gateway rejects its token", () => ({ token: "another-device-token" }), false],
		["the gateway has another path", (url) => ({ gateway: `${url}/devices` }), false],
	];
	for (const [what, change, isConnected] of cases)
		test(what, async (t) => {
			const url = (await runGateway(t)).url.replace("http", "ws");
			const settings = { gateway: `${url}/device`, token: deviceToken, ...change(url) };
			let trace = "";
			const onTrace = (text: string) => {
				trace += text;
			};
			const device = await VirtualDevice.start({ model: "DEV-1", serial: "a1b2c3", onTrace, settings });
			onEnd(t, () => device.close());
			const result = () =>
				trace
					.split("\n")
					.map(resultOf)
					.find((found) => found !== undefined);
			await waitUntil(() => result() === isConnected);
		});

	test("the gateway rejects it", () => {
		for (const { reason } of [
			endOfRejection(410, undefined),
			endOfRejection(507, undefined),
			endOfClose(4002),
		])
			assert.equal(resultOf(`gateway: ${reason}`), false);
	});
});

test("follows a board on a serial port until it has joined, and shows its lines", {
	skip: serialLineMissing,
}, async (t) => {
	const board = await openSerialLine(t);
	const seen: string[] = [];
	const watched = watchFirstStart({
		path: board.path,
		timeoutMs: 60_000,
		onLine: (line) => {
			seen.push(line);
			if (line === "Wi-Fi connected") board.print("gateway connected\r\n");
		},
	});
	board.print("Wi-Fi connecting\r\nWi-Fi connected\r\n");
	assert.equal(await watched, true);
	assert.deepEqual(seen, ["Wi-Fi connecting", "Wi-Fi connected", "gateway connected"]);
	const path = `${await temporaryDirectory(t)}/ttyACM0`;
	assert.equal(await watchFirstStart({ path, timeoutMs: 1, onLine: () => {} }), false);
});
