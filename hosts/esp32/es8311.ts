/**
 * Driver of the ES8311, the mono audio codec of both boards, as an I2S slave for 16 bits. It fades in and out, since each start and
 * stop would click. Registers as in its data sheet, revision 10.0 (Everest Semiconductor, January 2021). It throws nothing: a codec
 * that does not answer is left alone until check(), which sets it up as it was.
 */

import type { Codec } from "../../device/host.js";

/** Moddable's `embedded:io/smbus`. Throws if the codec does not acknowledge. */
export interface RegisterBus {
	readUint8(register: number): number;
	writeUint8(register: number, value: number): void;
	close(): void;
}
export interface BusOptions {
	/** GPIO numbers. */
	readonly data: number;
	readonly clock: number;
	/** At most 400 kHz. */
	readonly hz: number;
	/** 7 bits. */
	readonly address: number;
	/** Milliseconds that a transfer may take. */
	readonly timeout: number;
}
export interface ES8311Options {
	readonly io: new (options: BusOptions) => RegisterBus;
	readonly data: number;
	readonly clock: number;
	/** Default 400,000. */
	readonly hz?: number;
	/** 0x18 (default) with the pin CE low, 0x19 with CE high. */
	readonly address?: number;
	/** `mclk` (default): a pin at 256 times the sample rate. `bclk`: the bit clock at 32 times the sample rate. */
	readonly masterClock?: "mclk" | "bclk";
}

/** A transfer takes 0.1 ms. The SDK's 400 would be each access's where a line is held low. */
const timeoutMs = 10;

/** Names as in the data sheet. */
export const register = Object.freeze({
	reset: 0x00,
	clockManager1: 0x01,
	clockManager2: 0x02,
	clockManager3: 0x03,
	clockManager4: 0x04,
	clockManager5: 0x05,
	clockManager6: 0x06,
	clockManager7: 0x07,
	clockManager8: 0x08,
	serialPortIn: 0x09,
	serialPortOut: 0x0a,
	system0B: 0x0b,
	system0C: 0x0c,
	system0D: 0x0d,
	system0E: 0x0e,
	system0F: 0x0f,
	system10: 0x10,
	system11: 0x11,
	system12: 0x12,
	system13: 0x13,
	dacMute: 0x31,
	dacVolume: 0x32,
	dacOffset: 0x33,
	dacRangeControl: 0x34,
	dacRamp: 0x37,
	gpio: 0x44,
	i2c: 0xfa,
	chipId1: 0xfd,
	chipId2: 0xfe,
});

const chipId1 = 0x83;
const chipId2 = 0x11;

/** DAC_VOLUME of 0 dB, in steps of 0.5 dB; 0x00 is -95.5 dB, below the last of 16 bits. */
const fullGain = 0xbf;
const silence = 0x00;
/** DAC_DSMMUTE and DAC_DEMMUTE, which mute without a ramp. */
const hardMute = 0x60;
const noMute = 0x00;
/** DAC_EQBYPASS with DAC_RAMPRATE 0 (none) and 1 (0.25 dB in 4 samples, 1 dB/ms at 16 kHz). */
const rampOff = 0x08;
const rampOn = 0x18;
/** 40 dB in 40 ms. */
const rampSteps = 80;

/** @returns DAC_VOLUME: 100 is 0 dB, each step 0.5 dB, 0 is silence */
export function volumeRegister(volume: number): number {
	const whole = Math.round(Math.min(100, Math.max(0, volume)));
	return whole === 0 ? silence : fullGain - (100 - whole);
}

function bringUp(masterClock: "mclk" | "bclk"): readonly (readonly [number, number])[] {
	const isFromPin = masterClock === "mclk";
	return [
		// I2C_WL: noise filter of the control bus. The first write can get lost.
		[register.gpio, 0x08],
		[register.gpio, 0x08],
		[register.dacMute, hardMute],
		// MCLK_SEL, then every clock on.
		[register.clockManager1, isFromPin ? 0x3f : 0xbf],
		// DIV_PRE 1; MULT_PRE 1 or 8: 256 times the sample rate inside, either way.
		[register.clockManager2, isFromPin ? 0x00 : 0x18],
		// ADC_OSR and DAC_OSR 16, single speed; DIV_CLKADC and DIV_CLKDAC 1.
		[register.clockManager3, 0x10],
		[register.clockManager4, 0x10],
		[register.clockManager5, 0x00],
		// Dividers of a master at their defaults; not inverted, no tri-state.
		[register.clockManager6, 0x03],
		[register.clockManager7, 0x00],
		[register.clockManager8, 0xff],
		// I2S (Philips), 16 bits, left slot to the DAC; the ADC is muted.
		[register.serialPortIn, 0x0c],
		[register.serialPortOut, 0x4c],
		[register.system0B, 0x00],
		[register.system0C, 0x00],
		// Bias currents and VSEL as the maker's own driver sets them.
		[register.system10, 0x1f],
		[register.system11, 0x7f],
		// CSM_ON, slave.
		[register.reset, 0x80],
		// Analog part and VMID on; ADC modulator and references on.
		[register.system0D, 0x01],
		[register.system0E, 0x02],
		[register.system0F, 0x00],
		// DAC on, output stage for a headphone.
		[register.system12, 0x00],
		[register.system13, 0x10],
		// DRC_EN off: it would override the volume.
		[register.dacOffset, 0x00],
		[register.dacRangeControl, 0x00],
		[register.dacVolume, silence],
		[register.dacRamp, rampOn],
	];
}

export class ES8311 implements Codec {
	readonly #options: ES8311Options;
	#bus: RegisterBus | undefined;
	#isReady = false;
	#isClosed = false;
	#volume = 0;
	#isMuted = true;

	constructor(options: ES8311Options) {
		this.#options = options;
		this.check();
	}

	get isReady(): boolean {
		return this.#isReady;
	}

	get volume(): number {
		return this.#volume;
	}

	set volume(volume: number) {
		this.#volume = volume;
		this.#attempt((bus) => {
			if (!this.#isMuted) bus.writeUint8(register.dacVolume, volumeRegister(volume));
		});
	}

	get isMuted(): boolean {
		return this.#isMuted;
	}

	/** Fades over 40 dB in 40 ms by DAC_VOLUME, since DAC_RAMPRATE does not apply to the mute bits. */
	set isMuted(isMuted: boolean) {
		if (this.#isMuted === isMuted) return;
		this.#isMuted = isMuted;
		this.#attempt((bus) => this.#fade(bus));
	}

	check(): void {
		if (this.#isReady) this.#attempt((bus) => void bus.readUint8(register.chipId1));
		else this.#open();
	}

	close(): void {
		if (this.#isReady) this.#attempt((bus) => bus.writeUint8(register.dacMute, hardMute));
		this.#isClosed = true;
		this.#isReady = false;
		this.#release();
	}

	#fade(bus: RegisterBus): void {
		if (this.#isMuted) return bus.writeUint8(register.dacVolume, silence);
		const gain = volumeRegister(this.#volume);
		bus.writeUint8(register.dacRamp, rampOff);
		bus.writeUint8(register.dacVolume, Math.max(silence, gain - rampSteps));
		bus.writeUint8(register.dacRamp, rampOn);
		bus.writeUint8(register.dacMute, noMute);
		bus.writeUint8(register.dacVolume, gain);
	}

	/** Nothing where it does not answer, since each try may take the time-out. */
	#attempt(action: (bus: RegisterBus) => void): void {
		if (!this.#bus || !this.#isReady) return;
		try {
			action(this.#bus);
		} catch {
			this.#fail();
		}
	}

	#open(): void {
		if (this.#isClosed) return;
		try {
			const { io, data, clock, hz = 400_000, address = 0x18 } = this.#options;
			this.#bus = new io({ data, clock, hz, address, timeout: timeoutMs });
			this.#start(this.#bus);
			this.#isReady = true;
		} catch {
			this.#fail();
		}
	}

	#fail(): void {
		this.#isReady = false;
		this.#release();
	}

	#start(bus: RegisterBus): void {
		// INI_REG off: left at 1 by another firmware, all registers read as 0 and ignore writes.
		bus.writeUint8(register.i2c, 0x00);
		if (bus.readUint8(register.chipId1) !== chipId1 || bus.readUint8(register.chipId2) !== chipId2)
			throw new Error("not an ES8311");
		for (const [number, value] of bringUp(this.#options.masterClock ?? "mclk")) bus.writeUint8(number, value);
		if (!this.#isMuted) this.#fade(bus);
	}

	#release(): void {
		try {
			this.#bus?.close();
		} catch {
			// It is dropped anyway.
		}
		this.#bus = undefined;
	}
}
