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
});

describe("mute", () => {
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
