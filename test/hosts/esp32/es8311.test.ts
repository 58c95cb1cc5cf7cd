/** ES8311 driver over a simulated bus. Its set-up and fades are tested on an emulated chip (test/hosts/qemu). */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ES8311, register, volumeRegister } from "../../../hosts/esp32/es8311.js";

function start(chipIds: readonly [number, number] = [0x83, 0x11]) {
	const registers = new Map(chipIds.map((id, index) => [0xfd + index, id]));
	const writes: number[] = [];
	const bus = { registers, writes, opened: 0, isPlugged: true };
	const answer = () => {
		if (!bus.isPlugged) throw new Error("NACK");
	};
	const io = class {
		constructor() {
			bus.opened += 1;
		}
		readUint8(number: number): number {
			answer();
			return bus.registers.get(number) ?? 0;
		}
		writeUint8(number: number, value: number): void {
			answer();
			bus.writes.push(number);
			bus.registers.set(number, value);
		}
		close(): void {}
	};
	return { bus, codec: new ES8311({ io, data: 8, clock: 9 }) };
}

test("the volume is half a decibel per step from 0 dB at 100, and silence at 0", () => {
	for (const [volume, gain] of [
		[140, 0xbf],
		[100, 0xbf],
		[99, 0xbe],
		[49.7, 0xbf - 50],
		[1, 0xbf - 99],
		[0, 0],
		[-3, 0],
	] as const)
		assert.equal(volumeRegister(volume), gain, `${volume}`);
});

describe("codec", () => {
	test("that stops responding is not accessed until it is checked, because each access takes its timeout", () => {
		const { bus, codec } = start();
		codec.isMuted = false;
		bus.isPlugged = false;
		codec.check();
		codec.volume = 75;
		codec.isMuted = true;
		codec.isMuted = false;
		assert.deepEqual([codec.isReady, bus.opened], [false, 1]);
		bus.isPlugged = true;
		bus.registers.delete(register.reset);
		codec.check();
		assert.deepEqual([codec.isReady, bus.opened], [true, 2]);
		assert.deepEqual(
			[register.reset, register.dacMute, register.dacVolume].map((number) => bus.registers.get(number)),
			[0x80, 0, volumeRegister(75)],
			"set up, unmuted and at its volume",
		);
	});

	test("is distinguished from another chip at that address, which is not configured", () => {
		for (const chipIds of [
			[0x83, 0x88],
			[0x88, 0x11],
		] as const) {
			const { bus, codec } = start(chipIds);
			assert.equal(codec.isReady, false);
			assert.deepEqual(bus.writes, [register.i2c]);
		}
	});

	test("mutes when it is closed, and does nothing afterwards", () => {
		const { bus, codec } = start();
		codec.isMuted = false;
		codec.close();
		assert.equal(bus.registers.get(register.dacMute), 0x60);
		bus.writes.length = 0;
		codec.volume = 5;
		codec.isMuted = true;
		codec.check();
		codec.close();
		assert.deepEqual([bus.writes, codec.isReady], [[], false]);
	});
});
