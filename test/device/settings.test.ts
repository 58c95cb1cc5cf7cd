import assert from "node:assert/strict";
import { test } from "node:test";
import { commands, type StateReport } from "../../device/protocol/messages.js";
import { keysOf } from "../../device/protocol/schema.js";
import {
	commandDocuments,
	commandEntries,
	isConfirmable,
	isConfirmedBy,
} from "../../gateway/api/commands.js";
import { Flash } from "../../hosts/virtual/node/boot/flash.js";
import { flashBytes } from "../../hosts/virtual/node/boot/partitions.js";
import { orange, ringOf } from "../support/ring.js";
import { powerOn, runScriptedGateway } from "../support/scripted-gateway.js";
import { nextConnection, pass, passUntil, powerOnInVirtualTime } from "../support/virtual-time.js";

test("reports each value set by a command, and keeps it across a power cut exactly if the protocol says so", async (t) => {
	const { device, gateway, connection, pass } = await powerOnInVirtualTime(t, "PROTO-1");
	// At the start the ring shows the connection state.
	const names = keysOf(commandDocuments).filter(
		(name) => isConfirmable(name) && commandEntries[name].reported && name !== "set_led",
	);
	const shown = (report: StateReport) =>
		names.filter((name) => isConfirmable(name) && isConfirmedBy(commandDocuments[name].example, report, 0));
	assert.deepEqual(shown(await connection.query()), [], "the examples equal the defaults of a new device");
	for (const name of names) connection.send(commandDocuments[name].example);
	await connection.next("state_report", (report) => shown(report).length === names.length);
	await pass(5000);
	await device.powerCycle();
	const again = await (await gateway.connection()).next("state_report");
	// Not the haptics: a motor that starts with the board can restart it again and again.
	const kept = names.filter((name) => "keeps" in commands[name]);
	assert.deepEqual(shown(again), kept, "remember() its value in device/peripherals/peripherals.ts");
});

test("a value that could not be stored is stored later, without another change", async (t) => {
	const flash = new Flash({ byteLength: flashBytes });
	const { device, command, pass } = await powerOnInVirtualTime(t, "DEV-1", { flash });
	const failing = t.mock.method(flash, "replace", () => {
		throw new Error("the flash does not respond");
	});
	const setVolume = () => command({ command: "set_volume", value: 12 }, ({ audio }) => audio.volume === 12);
	await setVolume();
	await pass(5_000);
	assert.notEqual(device.setting("volume"), "12");
	failing.mock.restore();
	await setVolume();
	await pass(60_000);
	assert.equal(device.setting("volume"), "12");
});

test("shows an invalid gateway address on the ring and continues without a connection", async (t) => {
	const settings = { gateway: "http://127.0.0.1", token: "t" };
	const device = await powerOn(t, { url: "" }, "DEV-1", { settings, clock: "virtual" });
	await pass(device, 60_000);
	assert.equal(ringOf(device), orange);
	device.board.setButton("play", true);
	await pass(device, 20);
	assert.ok(device.board.isSounding, "buttons work without a network");
});

test("stores compiled-in settings once; later settings take precedence until the next image", async (t) => {
	const gateway = await runScriptedGateway(t);
	const flash = new Flash({ byteLength: flashBytes });
	const start = async (token: string, buildTime: number) => {
		const config = { gateway: gateway.url, token };
		const device = await powerOn(t, gateway, "DEV-1", {
			clock: "virtual",
			flash,
			config,
			buildTime,
			settings: {},
		});
		const { connection } = await nextConnection(device, gateway);
		return { device, connection, shown: connection.headers.authorization };
	};
	const first = await start("built-in-token", 1);
	assert.equal(first.shown, "Bearer built-in-token");
	first.connection.send({ command: "set_settings", value: { token: "later-token" } });
	const tried = await passUntil(first.device, gateway.connection());
	assert.equal(tried.headers.authorization, "Bearer later-token");
	await tried.next("settings_result");
	await first.device.close();
	const again = await start("built-in-token", 1);
	assert.equal(again.shown, "Bearer later-token");
	await again.device.close();
	const rebuilt = await start("built-in-token", 2);
	assert.equal(rebuilt.shown, "Bearer built-in-token");
});
