import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { endOfClose, endOfRejection } from "../../device/network/connection-end.js";
import { VirtualDevice, type VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { FirstStart, type Outcome, watchFirstStart } from "../../scripts/boards/first-start.js";
import { onEnd, temporaryDirectory } from "../support/cleanup.js";
import { waitUntil } from "../support/eventually.js";
import { freePort } from "../support/ports.js";
import { deviceToken, runGateway } from "../support/running.js";
import { openSerialLine, serialLineMissing } from "../support/serial-line.js";

/** Resolves once the interpretation of a virtual device's trace satisfies `predicate`. */
async function isSaid(
	t: TestContext,
	options: Partial<VirtualDeviceOptions>,
	predicate: (outcome: Outcome) => boolean,
): Promise<void> {
	const start = new FirstStart("/dev/ttyACM0");
	const outcomes: Outcome[] = [];
	let rest = "";
	const onTrace = (text: string) => {
		const lines = (rest + text).split("\n");
		rest = lines.pop() ?? "";
		for (const line of lines) outcomes.push(start.addLine(line) ?? start.outcome);
	};
	const device = await VirtualDevice.start({ model: "DEV-1", serial: "a1b2c3", onTrace, ...options });
	onEnd(t, () => device.close());
	await waitUntil(() => outcomes.some(predicate));
}

describe("interprets the trace of a first start where", () => {
	test("it joins the gateway", async (t) => {
		const { url } = await runGateway(t);
		const settings = { gateway: `${url.replace("http", "ws")}/device`, token: deviceToken };
		await isSaid(
			t,
			{ settings },
			({ isConnected, text }) => isConnected && text === "Connected to the gateway.",
		);
	});

	const cases: readonly (readonly [
		string,
		(url: string, noUrl: string) => Record<string, string>,
		RegExp,
	])[] = [
		[
			"it has no settings",
			() => ({ ssid: "", gateway: "" }),
			/^No settings on the board\. Flash it with ssid=/,
		],
		[
			"the password is rejected",
			() => ({ ssid: "home", password: "wrong-password" }),
			/^Wi-Fi: "home" rejected the password/,
		],
		["there is no such network", () => ({ ssid: "elsewhere" }), /^Wi-Fi: "elsewhere" not in range/],
		[
			"the gateway rejects the token",
			() => ({ token: "another-device-token" }),
			/^The gateway rejected the token \(401\)\. Flash/,
		],
		[
			"the gateway's path is wrong",
			(url) => ({ gateway: `${url}/devices` }),
			/^The gateway's address has the wrong path \(404\)/,
		],
		[
			"no gateway listens there",
			(_, noUrl) => ({ gateway: noUrl }),
			/^Wi-Fi connected, but gateway unreachable: .+HOST=0\.0\.0\.0/,
		],
	];
	for (const [what, change, sentence] of cases)
		test(what, async (t) => {
			const url = (await runGateway(t)).url.replace("http", "ws");
			const changed = change(url, `ws://127.0.0.1:${await freePort()}/device`);
			const settings = { gateway: `${url}/device`, token: deviceToken, ...changed };
			const accessPoints = [
				{ ssid: "virtual", rssi: -50 },
				{ ssid: "home", password: "the right one", rssi: -50 },
			];
			const predicate = ({ isConnected, text }: Outcome) => !isConnected && sentence.test(text);
			await isSaid(t, { settings, accessPoints }, predicate);
		});
});

describe("interprets a board that prints", () => {
	const standing = (...lines: readonly string[]) => {
		const start = new FirstStart("/dev/ttyACM0");
		for (const line of lines) {
			const ended = start.addLine(line);
			if (ended) return ended.text;
		}
		return start.outcome.text;
	};

	test("nothing: suggests its reset button", () => {
		assert.match(standing(), /^No output on \/dev\/ttyACM0\. Press the reset button/);
		assert.match(standing("", "  "), /^No output on/);
	});

	test("that the gateway rejects it: says so at once, without blaming the network", () => {
		for (const { reason } of [
			endOfRejection(410, undefined),
			endOfRejection(507, undefined),
			endOfClose(4002),
		])
			assert.match(standing(`gateway: ${reason}`), /^The gateway rejected this device .* dashboard\.$/);
	});

	test("its ROM's lines repeatedly: reports a reboot loop, with the last line before", () => {
		const start = [
			"ESP-ROM:esp32s3-20210327",
			"rst:0x3 (RTC_SW_SYS_RST)",
			"E (421) quad_psram: PSRAM chip not found",
		];
		assert.match(
			standing(...start, ...start, ...start, ...start),
			/^Boot loop .*N16R8.*Last line: E \(421\) quad_psram: PSRAM chip not found$/,
		);
		assert.match(standing(...start), /^Started, but no Wi-Fi output yet/);
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
	assert.deepEqual(await watched, { isConnected: true, text: "Connected to the gateway." });
	assert.deepEqual(seen, ["Wi-Fi connecting", "Wi-Fi connected", "gateway connected"]);
	const path = `${await temporaryDirectory(t)}/ttyACM0`;
	const none = await watchFirstStart({ path, timeoutMs: 1, onLine: () => {} });
	assert.match(none.text, /No output on/);
});
