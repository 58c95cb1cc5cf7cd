import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ES8311, register, volumeRegister } from "../../../hosts/esp32/es8311.js";
import { CodecBench } from "./codec-bench.js";

const pins = { data: 8, clock: 9 };

function start(masterClock: "mclk" | "bclk" = "mclk") {
	const bench = new CodecBench();
	const codec = new ES8311({ io: bench.io, ...pins, masterClock });
	return { bench, codec };
}

/** Gain in dB, from the data sheet. */
const gainOf = (value: number) => (value - 0xbf) / 2;

describe("setup of the codec", () => {
	test("opens the bus of its pins at address 0x18 and 400 kHz", () => {
		const { bench } = start();
		assert.deepEqual(bench.opened, [{ ...pins, hz: 400_000, address: 0x18, timeout: 10 }]);
	});

	test("releases a register file that is held in reset before it writes anything else", () => {
		const { bench } = start();
		assert.deepEqual(bench.writes[0], [register.i2c, 0]);
	});

	test("mutes before it switches on any clock or power, and stays muted", () => {
		const { bench, codec } = start();
		const order = bench.writes.map(([number]) => number);
		const muted = order.indexOf(register.dacMute);
		for (const later of [register.clockManager1, register.reset, register.system0D, register.system12])
			assert.ok(order.indexOf(later) > muted, `order of registers: ${order}`);
		assert.equal(bench.registers.get(register.dacMute), 0x60);
		assert.equal(bench.registers.get(register.dacVolume), 0);
		assert.equal(codec.isMuted, true);
	});

	test("sets the clocks while the chip's state machine is off", () => {
		const { bench } = start();
		const order = bench.writes.map(([number]) => number);
		const on = order.indexOf(register.reset);
		assert.equal(bench.registers.get(register.reset), 0x80);
		for (let number = register.clockManager1; number <= register.clockManager8; number += 1)
			assert.ok(order.indexOf(number) < on, `order of registers: ${order}`);
	});

	test("configures an I2S slave for 16 bits that plays the left slot", () => {
		const { bench } = start();
		assert.equal(bench.registers.get(register.serialPortIn), 0x0c);
		assert.equal((bench.registers.get(register.reset) ?? 0) & 0x40, 0);
	});

	test("uses the master clock from the pin, or eight times the bit clock", () => {
		const fromPin = start("mclk").bench.registers;
		assert.equal((fromPin.get(register.clockManager1) ?? 0) >> 7, 0);
		assert.equal(fromPin.get(register.clockManager2), 0x00);
		const fromBitClock = start("bclk").bench.registers;
		assert.equal((fromBitClock.get(register.clockManager1) ?? 0) >> 7, 1);
		assert.equal(fromBitClock.get(register.clockManager2), 3 << 3);
	});

	test("disables offset and range control, which would override the volume", () => {
		const { bench } = start();
		assert.equal(bench.registers.get(register.dacOffset), 0);
		assert.equal(bench.registers.get(register.dacRangeControl), 0);
	});
});

describe("volume", () => {
	test("100 is 0 dB and 0 is silence", () => {
		assert.equal(volumeRegister(100), 0xbf);
		assert.equal(volumeRegister(0), 0x00);
	});

	test("changes by half a decibel per step from 1 to 100", () => {
		for (let volume = 2; volume <= 100; volume += 1)
			assert.equal(gainOf(volumeRegister(volume)) - gainOf(volumeRegister(volume - 1)), 0.5);
		assert.equal(gainOf(volumeRegister(1)), -49.5);
	});

	test("is clamped to its range and rounded to whole steps", () => {
		assert.equal(volumeRegister(140), volumeRegister(100));
		assert.equal(volumeRegister(-3), 0);
		assert.equal(volumeRegister(49.7), volumeRegister(50));
	});

	test("is stored and not written while muted", () => {
		const { bench, codec } = start();
		bench.forget();
		codec.volume = 70;
		assert.deepEqual(bench.writes, []);
		assert.equal(codec.volume, 70);
		codec.isMuted = false;
		assert.equal(bench.registers.get(register.dacVolume), volumeRegister(70));
	});

	test("is written immediately while playing, without other registers", () => {
		const { bench, codec } = start();
		codec.isMuted = false;
		bench.forget();
		codec.volume = 30;
		codec.volume = 0;
		assert.deepEqual(bench.writes, [
			[register.dacVolume, volumeRegister(30)],
			[register.dacVolume, 0],
		]);
	});
});

describe("mute", () => {
	/** LRCK periods per 0.25 dB for a value of DAC_RAMPRATE: 4 for 1, doubling from there. */
	const rampMs = (decibels: number, value: number) => ((decibels / 0.25) * 2 ** ((value >> 4) + 1)) / 16;

	test("starts the fade-in 40 dB below the volume and ramps for 40 ms at 16 kHz", () => {
		const { bench, codec } = start();
		codec.volume = 90;
		bench.forget();
		codec.isMuted = false;
		const [low, high] = bench.written(register.dacVolume);
		assert.equal(gainOf(high ?? 0) - gainOf(low ?? 0), 40);
		assert.equal(rampMs(40, bench.registers.get(register.dacRamp) ?? 0), 40);
	});

	test("jumps to the start of the fade-in while the modulator is muted and the ramp off", () => {
		const { bench, codec } = start();
		codec.volume = 90;
		bench.forget();
		codec.isMuted = false;
		assert.deepEqual(
			bench.writes.map(([number]) => number),
			[register.dacRamp, register.dacVolume, register.dacRamp, register.dacMute, register.dacVolume],
		);
		assert.deepEqual(bench.written(register.dacRamp), [0x08, 0x18]);
		assert.deepEqual(bench.written(register.dacMute), [0]);
	});

	test("fades out by the ramp alone, because the mute bits would click", () => {
		const { bench, codec } = start();
		codec.volume = 90;
		codec.isMuted = false;
		bench.forget();
		codec.isMuted = true;
		assert.deepEqual(bench.writes, [[register.dacVolume, 0]]);
		assert.equal(codec.isMuted, true);
	});

	test("starts from silence for a low volume", () => {
		const { bench, codec } = start();
		codec.volume = 1;
		bench.forget();
		codec.isMuted = false;
		assert.deepEqual(bench.written(register.dacVolume), [volumeRegister(1) - 80, volumeRegister(1)]);
		codec.isMuted = true;
		codec.volume = 0;
		bench.forget();
		codec.isMuted = false;
		assert.deepEqual(bench.written(register.dacVolume), [0, 0]);
	});

	test("writes nothing if the value is unchanged", () => {
		const { bench, codec } = start();
		bench.forget();
		codec.isMuted = true;
		assert.deepEqual(bench.writes, []);
	});
});

describe("codec that does not respond", () => {
	test("is not ready, and throws nothing", () => {
		const bench = new CodecBench();
		bench.isPlugged = false;
		const codec = new ES8311({ io: bench.io, ...pins });
		assert.equal(codec.isReady, false);
		codec.volume = 40;
		codec.isMuted = false;
		codec.isMuted = true;
		codec.close();
		assert.equal(codec.volume, 40);
	});

	test("behaves the same if its bus cannot be opened", () => {
		const codec = new ES8311({
			io: class {
				constructor() {
					throw new Error("pin in use");
				}
				readUint8(): number {
					return 0;
				}
				writeUint8(): void {}
				close(): void {}
			},
			...pins,
		});
		assert.equal(codec.isReady, false);
		codec.isMuted = false;
	});

	test("is not accessed until it is checked, because with a stuck bus each access takes its timeout", () => {
		const { bench, codec } = start();
		bench.isPlugged = false;
		codec.check();
		const tries = bench.opened.length;
		codec.volume = 30;
		codec.isMuted = false;
		codec.isMuted = true;
		assert.equal(bench.opened.length, tries);
		codec.check();
		assert.equal(bench.opened.length, tries + 1);
	});

	test("is set up when it responds again, at its volume and unmuted", () => {
		const { bench, codec } = start();
		codec.volume = 60;
		codec.isMuted = false;
		bench.isPlugged = false;
		codec.volume = 80;
		assert.equal(codec.isReady, false);
		bench.isPlugged = true;
		bench.forget();
		bench.registers.delete(register.reset);
		codec.volume = 75;
		assert.equal(codec.isReady, false);
		codec.check();
		assert.equal(codec.isReady, true);
		assert.equal(bench.registers.get(register.reset), 0x80);
		assert.equal(bench.registers.get(register.dacMute), 0);
		assert.equal(bench.registers.get(register.dacVolume), volumeRegister(75));
	});

	test("closes its bus, so that another attempt can open it", () => {
		const { bench, codec } = start();
		bench.isPlugged = false;
		codec.isMuted = false;
		assert.equal(bench.closedCount, 1);
		codec.check();
		assert.equal(bench.closedCount, bench.opened.length);
	});

	test("is distinguished from another chip at that address, which is not configured", () => {
		const bench = new CodecBench();
		bench.registers.set(0xfe, 0x88);
		const codec = new ES8311({ io: bench.io, ...pins });
		assert.equal(codec.isReady, false);
		assert.deepEqual(bench.writes, [[register.i2c, 0]]);
	});
});

describe("close", () => {
	test("mutes, closes the bus and does nothing afterwards", () => {
		const { bench, codec } = start();
		codec.isMuted = false;
		codec.close();
		assert.equal(bench.registers.get(register.dacMute), 0x60);
		assert.equal(bench.closedCount, 1);
		bench.forget();
		codec.volume = 5;
		codec.isMuted = true;
		codec.close();
		assert.deepEqual(bench.writes, []);
		assert.equal(codec.isReady, false);
	});
});
