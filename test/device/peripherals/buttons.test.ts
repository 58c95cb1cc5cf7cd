import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { type ButtonName, buttonNames } from "../../../device/host.js";
import { Buttons } from "../../../device/peripherals/buttons.js";
import { wav } from "../../support/sounds.js";
import { powerOnInVirtualTime } from "../../support/virtual-time.js";
import { Rig } from "../sound/rig.js";
import { MemoryServer } from "../update/server.js";
import { clock } from "../update/timer.js";

beforeEach(() => clock.clear());

describe("contact of a button", () => {
	/** Buttons on simulated inputs. @param held pressed during the start */
	function start(...held: readonly ButtonName[]) {
		const levels = new Map<ButtonName, boolean>(held.map((name) => [name, true]));
		const onReadable = new Map<ButtonName, () => void>();
		const pressed: ButtonName[] = [];
		let changes = 0;
		const partOf = (name: ButtonName) =>
			class {
				constructor(options: { readonly onReadable: () => void }) {
					onReadable.set(name, options.onReadable);
				}
				read(): number {
					return Number(levels.get(name) ?? false);
				}
				close(): void {}
			};
		const [play, mute, volumeUp, volumeDown] = buttonNames.map(partOf);
		assert.ok(play && mute && volumeUp && volumeDown, "four buttons");
		const buttons = new Buttons({
			parts: { play, mute, volumeUp, volumeDown },
			onPressed: (name) => pressed.push(name),
			onChanged: () => {
				changes += 1;
			},
		});
		const set = (name: ButtonName, isPressed: boolean, ms: number) => {
			levels.set(name, isPressed);
			onReadable.get(name)?.();
			clock.pass(ms);
		};
		return { buttons, pressed, changes: () => changes, set };
	}

	test("is debounced: one press after 20 ms of a stable level, and none by a release", () => {
		const { buttons, pressed, changes, set } = start();
		for (const level of [true, false, true, false, true]) set("mute", level, 5);
		clock.pass(14);
		assert.deepEqual([pressed, buttons.report.btn_mute], [[], false]);
		clock.pass(1);
		assert.deepEqual([pressed, buttons.report.btn_mute, changes()], [["mute"], true, 1]);
		for (const level of [false, true, false]) set("mute", level, 5);
		clock.pass(20);
		assert.deepEqual([pressed, buttons.report.btn_mute, changes()], [["mute"], false, 2]);
	});

	test("ignores a spike shorter than 20 ms", () => {
		const { pressed, changes, set } = start();
		set("play", true, 19);
		set("play", false, 100);
		assert.deepEqual([pressed, changes()], [[], 0]);
	});

	test("held during the start is reported after 20 ms, and triggers nothing until it is pressed again", () => {
		const { buttons, pressed, set } = start("play", "volumeUp");
		clock.pass(19);
		assert.equal(buttons.report.btn_play, false);
		clock.pass(1);
		assert.deepEqual(buttons.report, {
			btn_play: true,
			btn_mute: false,
			btn_vol_up: true,
			btn_vol_down: false,
		});
		set("play", false, 20);
		assert.deepEqual(pressed, []);
		set("play", true, 20);
		assert.deepEqual(pressed, ["play"]);
	});

	test("released during the start is not pressed", () => {
		const { buttons, pressed, changes, set } = start("play");
		clock.pass(10);
		set("play", false, 100);
		assert.deepEqual([buttons.report.btn_play, pressed, changes()], [false, [], 0]);
	});
});

test("each button does what the interface specifies, and is reported while it is held", async (t) => {
	const { device, gateway, connection, pass } = await powerOnInVirtualTime(t, "DEV-1");
	const press = async (name: ButtonName) => {
		device.board.setButton(name, true);
		await pass(20);
		const { peripherals } = await connection.next("state_report");
		device.board.setButton(name, false);
		await pass(20);
		await connection.next("state_report");
		return peripherals;
	};
	assert.equal((await press("volumeDown")).audio.volume, 45);
	assert.equal((await press("volumeUp")).audio.volume, 50);
	const muted = await press("mute");
	assert.deepEqual([muted.audio.volume, muted.buttons.btn_mute], [0, true]);
	const playing = await press("play");
	assert.deepEqual(
		[playing.audio.player_state, playing.audio.current_track],
		["playing", "file:///chimes/startup"],
	);
	assert.equal((await press("play")).audio.player_state, "paused");
	assert.equal((await press("play")).audio.player_state, "playing");

	device.board.setButton("play", true);
	await device.powerCycle();
	const again = await gateway.connection();
	await pass(20);
	const { buttons, audio } = (
		await again.next("state_report", (report) => report.peripherals.buttons.btn_play)
	).peripherals;
	assert.deepEqual([buttons.btn_play, audio.player_state], [true, "idle"]);
});

describe("volume by buttons", () => {
	/** @returns volume after each step: a button, or a number by command */
	function volumesAfter(volume: number, ...steps: readonly (ButtonName | number)[]): number[] {
		const server = new MemoryServer({ file: wav(new Uint8Array(2)) });
		const rig = new Rig({ server, volume, onUpdate: () => {} });
		return steps.map((step) => {
			if (typeof step === "number") rig.execute({ command: "set_volume", value: step });
			else rig.press(step);
			return rig.audio.volume;
		});
	}

	for (const [name, volume, steps, expected] of [
		["changes by 5 within the range", 98, ["volumeUp", "volumeUp", 3, "volumeDown"], [100, 100, 3, 0]],
		["continues up from before the mute button", 40, ["mute", "volumeUp", "mute", "mute"], [0, 45, 0, 45]],
		[
			"continues down from before the mute button",
			40,
			["mute", "volumeDown", "mute", "mute"],
			[0, 35, 0, 35],
		],
		["continues up from before set_volume 0", 40, [0, "volumeUp"], [0, 45]],
		["continues down from before set_volume 0", 40, [0, "volumeDown"], [0, 35]],
		["continues up from before stepping down to 0", 8, ["volumeDown", "volumeDown", "volumeUp"], [3, 0, 8]],
		["returns by mute to the last audible one", 5, ["volumeDown", "mute"], [0, 5]],
		[
			"stays within the range after mute",
			98,
			["mute", "volumeUp", 4, "mute", "volumeDown", "volumeUp"],
			[0, 100, 4, 0, 0, 9],
		],
	] as const)
		test(name, () => assert.deepEqual(volumesAfter(volume, ...steps), expected));
});
