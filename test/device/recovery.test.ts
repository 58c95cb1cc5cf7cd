import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ButtonName } from "../../device/host.js";
import { waitUntil } from "../support/eventually.js";
import { pixelsOf, ringOf } from "../support/ring.js";
import { powerOn } from "../support/scripted-gateway.js";
import { pass, passUntil, powerOnInVirtualTime, type TimedDevice } from "../support/virtual-time.js";

const both: readonly ButtonName[] = ["mute", "play"];

function set(
	{ device }: Pick<TimedDevice, "device">,
	names: readonly ButtonName[],
	isPressed: boolean,
): void {
	for (const name of names) device.board.setButton(name, isPressed);
}

const litOf = ({ device }: Pick<TimedDevice, "device">) =>
	pixelsOf(device).filter((pixel) => pixel === "2f002f").length;

describe("play and mute held for 10 s", () => {
	test("erase all settings: the ring counts down, and the device restarts unprovisioned", async (t) => {
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { device, pass, connection, command } = timed;
		await command({ command: "set_volume", value: 12 }, ({ audio }) => audio.volume === 12);
		connection.send({ command: "set_quiet", value: { id: "n1", periods: [{ from: 1, until: 2 }] } });
		await connection.next("state_report", ({ quiet }) => quiet?.id === "n1");
		await pass(5000);
		assert.equal(device.setting("volume"), "12");
		assert.match(device.setting("quiet") ?? "", /n1/);
		set(timed, both, true);
		await pass(20);
		const counts: number[] = [];
		for (let second = 0; second < 10; second++) {
			counts.push(litOf(timed));
			assert.match(ringOf(device), /^(2f002f|000000)+$/);
			await pass(second < 9 ? 1000 : 970);
		}
		assert.deepEqual(counts, [12, 11, 10, 9, 8, 6, 5, 4, 3, 2]);
		assert.notEqual(device.setting("gateway"), undefined, "not yet");
		await passUntil(device, connection.closed);
		await waitUntil(() => device.started.resetReason === "SW_RESET");
		for (const name of ["ssid", "password", "gateway", "token", "ca", "sntp", "volume", "quiet"])
			assert.equal(device.setting(name), undefined, name);
		await pass(1000);
		assert.equal(pixelsOf(device).filter((pixel) => pixel === "2f2f2f").length, 1, "waits for provisioning");
	});

	test("have no other effect: the first press is undone, whichever button it was", async (t) => {
		for (const names of [both, [...both].reverse()]) {
			const timed = await powerOnInVirtualTime(t, "DEV-1");
			const { connection, pass } = timed;
			const { peripherals: before } = await connection.query();
			for (const name of names) {
				set(timed, [name], true);
				await pass(100);
			}
			await pass(9000);
			set(timed, names, false);
			await pass(100);
			const { peripherals } = await connection.query();
			assert.deepEqual(peripherals.audio, before.audio);
			assert.equal(peripherals.led_ring.state_id, 5);
			assert.equal(litOf(timed), 0, "the rainbow again");
		}
	});

	test("erase nothing if released a moment earlier, or if only one is held", async (t) => {
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { device, connection, pass } = timed;
		set(timed, both, true);
		await pass(9990);
		set(timed, ["mute"], false);
		await pass(60_000);
		assert.equal(connection.socket.readyState, connection.socket.OPEN);
		assert.notEqual(device.setting("gateway"), undefined);
		set(timed, ["mute"], true);
		await pass(9990);
		assert.equal(litOf(timed), 1, "counted from the start");
		set(timed, ["play"], false);
		await pass(60_000);
		assert.notEqual(device.setting("gateway"), undefined);
	});

	test("erase nothing if held since the start, because a button may be stuck", async (t) => {
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { device, gateway, pass } = timed;
		set(timed, both, true);
		await device.powerCycle();
		const connection = await gateway.connection();
		await pass(30_000);
		const { peripherals } = await connection.query();
		assert.deepEqual([peripherals.buttons.btn_play, peripherals.buttons.btn_mute], [true, true]);
		set(timed, ["play"], false);
		await pass(100);
		set(timed, ["play"], true);
		await pass(30_000);
		assert.notEqual(device.setting("gateway"), undefined, "one of them is still stuck");
	});

	test("show the countdown above an update and an identify", async (t) => {
		const timed = await powerOnInVirtualTime(t, "DEV-1");
		const { connection, pass } = timed;
		set(timed, both, true);
		await pass(3000);
		connection.send({ command: "identify" });
		await connection.query();
		await pass(3500);
		assert.equal(litOf(timed), 5);
		connection.send({ command: "start_ota", url: "http://127.0.0.1:1/firmware.bin" });
		await connection.next("state_report", ({ peripherals }) => peripherals.led_ring.state_id === 6);
		await pass(100);
		assert.equal(litOf(timed), 5);
	});
});

test("an unprovisioned device shows one turning white pixel and no error", async (t) => {
	for (const settings of [
		{ gateway: "ws://127.0.0.1:1/device", token: "t", ssid: "" },
		{ gateway: "", token: "" },
	]) {
		const device = await powerOn(t, { url: "" }, "DEV-1", { settings, clock: "virtual" });
		const places = new Set<number>();
		for (let frame = 0; frame < 24; frame++) {
			const pixels = pixelsOf(device);
			assert.equal(pixels.filter((pixel) => pixel !== "000000").length, 1);
			places.add(pixels.indexOf("2f2f2f"));
			await pass(device, 250);
		}
		assert.equal(places.size, 12);
		device.board.setButton("play", true);
		await pass(device, 20);
		assert.ok(device.board.isSounding, "buttons work without a network");
		await device.close();
	}
});
