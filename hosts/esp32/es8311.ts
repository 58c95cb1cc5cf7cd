/**
 * The control side of the ES8311, the mono audio codec of both boards: brings it up as an I2S slave for 16 bits, sets its
 * gain and fades it in and out. Without it the speaker stays silent, and without the fades each start and stop clicks.
 *
 * Registers after the ES8311 data sheet, revision 10.0 (Everest Semiconductor, January 2021). No exception leaves this
 * class: a codec that does not answer is tried again, from the beginning, whenever it is next spoken to.
 */

import type { Codec } from "../../device/host.js";

/** What is needed of Moddable's `embedded:io/smbus`. Each call throws where the codec does not acknowledge. */
export interface RegisterBus {
	readUint8(register: number): number;
	writeUint8(register: number, value: number): void;
	close(): void;
}
export interface BusOptions {
	/** GPIO numbers. */
	readonly data: number;
	readonly clock: number;
	/** In hertz; the codec takes up to 400 kHz. */
	readonly hz: number;
	/** 7 bits. */
	readonly address: number;
}
export interface ES8311Options {
	readonly io: new (options: BusOptions) => RegisterBus;
	readonly data: number;
	readonly clock: number;
	/** Default 400,000. */
	readonly hz?: number;
	/** 0x18 where the pin CE is low, 0x19 where it is high. Default 0x18. */
	readonly address?: number;
	/**
	 * Where the codec takes its master clock from: `mclk`, a pin driven at 256 times the sample rate, or `bclk`, the bit
	 * clock at 32 times the sample rate, where the board has no line for the other. Default `mclk`.
	 */
	readonly masterClock?: "mclk" | "bclk";
}

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

/** DAC_VOLUME of 0 dB; a step is 0.5 dB, and 0x00, -95.5 dB, is below the last bit of 16. */
const fullGain = 0xbf;
const silence = 0x00;
/** DAC_DSMMUTE and DAC_DEMMUTE: mute in the modulator itself, at once, which clicks unless all is silent. */
const hardMute = 0x60;
const noMute = 0x00;
/** DAC_EQBYPASS, with DAC_RAMPRATE 0 (none) and 1: 0.25 dB in 4 samples, the fastest, which is 1 dB/ms at 16 kHz. */
const rampOff = 0x08;
const rampOn = 0x18;
/** 40 dB in steps of 0.5 dB: what the ramp covers in 40 ms. */
const rampSteps = 80;

/** What `volume` writes: each step is 0.5 dB, so 100 is 0 dB, 1 is -49.5 dB, and 0 is silence. */
export function volumeRegister(volume: number): number {
	const whole = Math.round(Math.min(100, Math.max(0, volume)));
	return whole === 0 ? silence : fullGain - (100 - whole);
}

/** Register and value, in the order in which they are written. */
function bringUp(masterClock: "mclk" | "bclk"): readonly (readonly [number, number])[] {
	const isFromPin = masterClock === "mclk";
	return [
		// I2C_WL: the filter against noise on the control bus. The first write to it can get lost.
		[register.gpio, 0x08],
		[register.gpio, 0x08],
		// Muted until something sounds.
		[register.dacMute, hardMute],
		// MCLK_SEL, then every clock on.
		[register.clockManager1, isFromPin ? 0x3f : 0xbf],
		// DIV_PRE 1; MULT_PRE 1 or 8: 256 times the sample rate inside, either way.
		[register.clockManager2, isFromPin ? 0x00 : 0x18],
		// ADC_OSR and DAC_OSR 16, single speed; DIV_CLKADC and DIV_CLKDAC 1.
		[register.clockManager3, 0x10],
		[register.clockManager4, 0x10],
		[register.clockManager5, 0x00],
		// The dividers of a master, at their defaults; not inverted, nothing in tri-state.
		[register.clockManager6, 0x03],
		[register.clockManager7, 0x00],
		[register.clockManager8, 0xff],
		// I2S (Philips), 16 bits, left slot to the DAC; what comes from the ADC is not used: muted.
		[register.serialPortIn, 0x0c],
		[register.serialPortOut, 0x4c],
		// The shortest waits of the power-up sequence.
		[register.system0B, 0x00],
		[register.system0C, 0x00],
		// Bias currents and VSEL as the maker's own driver sets them.
		[register.system10, 0x1f],
		[register.system11, 0x7f],
		// CSM_ON, slave, nothing held in reset.
		[register.reset, 0x80],
		// Analog part on, VMID charging at normal speed; ADC modulator and references on, no low-power modes.
		[register.system0D, 0x01],
		[register.system0E, 0x02],
		[register.system0F, 0x00],
		// DAC on, output stage able to drive a headphone.
		[register.system12, 0x00],
		[register.system13, 0x10],
		// No offset; DRC_EN off, which would otherwise stand above the volume.
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
		this.#attempt(() => {});
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

	/**
	 * Fades within 40 ms, by DAC_VOLUME, because DAC_RAMPRATE does not apply to the mute bits. The way down is 40 dB by
	 * then; the owner stops the output (which ends the ramp with it), or it goes on to silence. The way up begins 40 dB
	 * below the volume, wherever the last one ended.
	 */
	set isMuted(isMuted: boolean) {
		if (this.#isMuted === isMuted && this.#isReady) return;
		this.#isMuted = isMuted;
		this.#attempt((bus) => this.#fade(bus));
	}

	check(): void {
		this.#attempt((bus) => void bus.readUint8(register.chipId1));
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

	/** Speaks to the codec, which is brought up first where it was not there before. */
	#attempt(action: (bus: RegisterBus) => void): void {
		if (this.#isClosed) return;
		try {
			if (this.#bus && this.#isReady) return action(this.#bus);
			const { io, data, clock, hz = 400_000, address = 0x18 } = this.#options;
			this.#bus ??= new io({ data, clock, hz, address });
			this.#start(this.#bus);
			this.#isReady = true;
		} catch {
			this.#isReady = false;
			this.#release();
		}
	}

	#start(bus: RegisterBus): void {
		// INI_REG off: left at 1 by some other firmware, it reads everything as 0 and discards every other write.
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
			// It is given up all the same.
		}
		this.#bus = undefined;
	}
}
