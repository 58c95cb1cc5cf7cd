/** Provisioning of firmware in XS over the serial port. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { command, encodePacket } from "../../../device/improv/packets.js";
import type { VirtualDeviceOptions } from "../../../hosts/virtual/node/virtual-device.js";
import { ImprovClient } from "../../support/improv-client.js";
import { orange, red, ringOf } from "../../support/ring.js";
import { powerOn, runScriptedGateway } from "../../support/scripted-gateway.js";
import { pass, passUntil } from "../../support/virtual-time.js";

const home = { ssid: "home", rssi: -50, password: "correct horse" };
const none = { ssid: "", gateway: "" };

type Settings = Readonly<Record<string, string>>;

/** @param settingsFor settings for a gateway address */
async function start(
	t: TestContext,
	options: Partial<VirtualDeviceOptions> = {},
	settingsFor: (gateway: string) => Settings = () => none,
) {
	const gateway = await runScriptedGateway(t);
	const said: string[] = [];
	const device = await powerOn(t, gateway, "DEV-1", {
		clock: "virtual",
		settings: settingsFor(gateway.url),
		accessPoints: [home],
		onTrace: (text) => said.push(text),
		...options,
	});
	const client = new ImprovClient(device.board);
	/** Messages that the device sends within a second. */
	const answers = async (send: () => void) => {
		client.heard.length = 0;
		send();
		await pass(device, 1000);
		return [...client.heard];
	};
	const assertAnswers = async (send: () => void, expected: string) =>
		assert.equal((await answers(send)).join("; "), expected);
	return { device, gateway, client, said, answers, assertAnswers };
}

describe("a device without settings", () => {
	test("reports its state and device info", async (t) => {
		const { device, client, assertAnswers } = await start(t);
		await assertAnswers(() => client.send(command.currentState), "error 0; state 2");
		const version = device.started.version;
		await assertAnswers(
			() => client.send(command.deviceInformation),
			`error 0; result 3: device-gateway, ${version}, virtual, dev-1-020000a1b2c3`,
		);
	});

	test("lists each network in range once", async (t) => {
		const accessPoints = [
			{ ssid: "", rssi: -40 },
			{ ssid: "office", rssi: -55, password: "12345678" },
			{ ssid: "café", rssi: -60 },
			{ ssid: "office", rssi: -80, password: "12345678" },
			{ ssid: "secret", rssi: -30, isHidden: true },
		] as const;
		const { client, assertAnswers } = await start(t, { accessPoints });
		await assertAnswers(
			() => client.send(command.networks),
			"error 0; result 4: office, -55, YES; result 4: café, -60, NO; result 4: ",
		);
	});

	test("joins the network and the gateway with the settings it received", async (t) => {
		const { device, gateway, client, assertAnswers } = await start(t);
		const page = gateway.url.replace("ws:", "http:").replace("device", "");
		const settings = { gateway: gateway.url, token: "t".repeat(250) };
		await assertAnswers(
			() => client.give(settings),
			"error 0; result 208: ; error 0; result 208: ; error 0; result 208: ",
		);
		await assertAnswers(
			() => client.join(home.ssid, home.password),
			`error 0; state 3; state 4; result 1: ${page}`,
		);
		await assertAnswers(() => client.send(command.currentState), `error 0; state 4; result 2: ${page}`);
		const connection = await passUntil(device, gateway.connection());
		assert.equal(connection.headers.authorization, `Bearer ${settings.token}`);
		assert.equal(device.setting("ssid"), home.ssid);
		assert.equal(device.setting("password"), home.password);
	});

	test("reports a failed connection, shows it on the ring and accepts another password", async (t) => {
		const { device, client, said, assertAnswers } = await start(t);
		await assertAnswers(() => client.join(home.ssid, "wrong horse"), "error 0; state 3; error 3; state 2");
		assert.equal(ringOf(device), red);
		await assertAnswers(() => client.join(home.ssid, "short"), "error 0; error 3; state 2");
		assert.match(said.at(-1) ?? "", /^Improv: password must be empty, or a WPA password/);
		assert.equal(device.setting("ssid"), undefined);
		await assertAnswers(() => client.join(home.ssid, home.password), "error 0; state 3; state 4; result 1: ");
		assert.equal(ringOf(device), orange, "no gateway");
		for (const text of said) assert.doesNotMatch(text, /horse/);
	});

	test("rejects invalid settings with a message and stores none of them", async (t) => {
		const { device, client, answers } = await start(t);
		for (const [settings, sentence] of [
			[
				{ gateway: "http://192.168.1.2", token: "t" },
				"gateway must be an address like ws://host:port/device",
			],
			[{ gatewy: "ws://192.168.1.2/device" }, "it must be an object with at least one of ssid"],
			[{ token: "t", ca: "no certificate" }, "ca "],
		] as const) {
			const [, result = ""] = (await answers(() => client.give(settings))).slice(-2);
			assert.ok(result.startsWith(`result 208: ${sentence}`), result);
		}
		assert.equal(device.setting("token"), undefined);
	});

	test("responds to invalid commands with an error, and ignores damaged packets", async (t) => {
		const { device, client, answers, assertAnswers } = await start(t);
		await assertAnswers(() => client.send(99), "error 0; error 2");
		await assertAnswers(() => client.send(command.wifiSettings, Uint8Array.of(9)), "error 0; error 1");
		const send = (data: readonly number[]) => () =>
			device.board.sendSerial(encodePacket(3, Uint8Array.from(data)));
		await assertAnswers(send([]), "error 0; error 1");
		await assertAnswers(send([2, 7]), "error 0; error 1");
		await assertAnswers(send([1, 4, 1, 0xff, 1, 65]), "error 0; error 1");
		await assertAnswers(send([1, 4, 1, 0, 1, 65]), "error 0; error 1");
		const damaged = encodePacket(3, Uint8Array.of(2, 0));
		damaged[10] = 1;
		await assertAnswers(() => device.board.sendSerial(damaged), "");
		const broken = encodePacket(3, new Uint8Array(200)).subarray(0, 50);
		await assertAnswers(() => device.board.sendSerial(broken), "");
		await pass(device, 1000);
		await assertAnswers(() => client.send(command.currentState), "error 0; state 2");
		const endless = () => {
			for (let piece = 0; piece < 40; piece++) client.send(command.settings, new Uint8Array(250).fill(65));
		};
		const rejections = await answers(endless);
		assert.ok(rejections.includes("error 1"), `answers: ${rejections}`);
		await assertAnswers(() => client.send(command.currentState), "error 0; state 2");
	});
});

describe("a device with settings", () => {
	test("accepts replacements for settings that fail, and restarts with them", async (t) => {
		const { device, gateway, client, answers, assertAnswers } = await start(t, {}, () => ({
			ssid: "former",
			password: "12345678",
			gateway: "ws://127.0.0.1:1/device",
			token: "old",
		}));
		await assertAnswers(() => client.send(command.currentState), "error 0; state 2");
		await answers(() => client.give({ gateway: gateway.url, token: "new" }));
		assert.deepEqual((await answers(() => client.join(home.ssid, home.password))).slice(0, 3), [
			"error 0",
			"state 3",
			"state 4",
		]);
		const connection = await passUntil(device, gateway.connection());
		assert.equal(connection.headers.authorization, "Bearer new");
	});

	test("keeps its settings when the new ones fail, and retries them later", async (t) => {
		const { device, gateway, client, said, answers } = await start(t, { accessPoints: [] }, (url) => ({
			ssid: home.ssid,
			password: home.password,
			gateway: url,
			token: "t",
		}));
		await pass(device, 0);
		said.length = 0;
		await answers(() => client.join("elsewhere", ""));
		await pass(device, 25_000);
		assert.equal(client.heard.at(-1), "state 2");
		for (const text of said)
			assert.doesNotMatch(text, /"home"/, "the second Wi-Fi client must not appear in the log");
		device.board.accessPoints = [home];
		await passUntil(device, gateway.connection());
		assert.equal(device.setting("ssid"), home.ssid);
	});

	test("stops listening after it has reached its gateway", async (t) => {
		const gateway = await runScriptedGateway(t);
		const device = await powerOn(t, gateway, "DEV-1", { clock: "virtual" });
		await (await passUntil(device, gateway.connection())).next("state_report");
		const client = new ImprovClient(device.board);
		client.send(command.currentState);
		client.join(home.ssid, home.password);
		await pass(device, 5_000);
		assert.deepEqual(client.heard, []);
		assert.equal(device.setting("ssid"), "virtual");
	});
});
