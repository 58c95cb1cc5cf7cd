/**
 * Driver for the ES8311 mono audio codec as an I2S slave with 16 bits. Fades in and out to avoid clicks. Registers follow the data
 * sheet, revision 10.0 (Everest Semiconductor, January 2021). Never throws: a codec that does not answer is not accessed again until
 * check(), which restores its state.
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
	readonly hz: number;
	/** 7-bit address. */
	readonly address: number;
	/** Timeout of a transfer in milliseconds. */
	readonly timeout: number;
}
export interface ES8311Options {
	readonly io: new (options: BusOptions) => RegisterBus;
	readonly data: number;
	readonly clock: number;
	/** 0x18 (default) if pin CE is low, 0x19 if it is high. */
	readonly address?: number;
}

/** Maximum of the codec. */
const busHz = 400_000;
/** A transfer takes 0.1 ms. With the SDK's default of 400 ms, a line held low would block for 400 ms per access. */
const timeoutMs = 10;

/** Addresses of the registers that are written or read outside of `bringUp`. */
export const register = Object.freeze({
	reset: 0x00,
	dacMute: 0x31,
	dacVolume: 0x32,
	dacRamp: 0x37,
	i2c: 0xfa,
	chipId1: 0xfd,
	chipId2: 0xfe,
});

const chipId1 = 0x83;
const chipId2 = 0x11;

/** DAC_VOLUME for 0 dB, in steps of 0.5 dB; 0x00 is -95.5 dB, below the resolution of 16 bits. */
const fullGain = 0xbf;
const silence = 0x00;
/** DAC_DSMMUTE and DAC_DEMMUTE: mute without a ramp. */
const hardMute = 0x60;
const noMute = 0x00;
/** DAC_EQBYPASS with DAC_RAMPRATE 0 (none) and 1 (0.25 dB in 4 samples, 1 dB/ms at 16 kHz). */
const rampOff = 0x08;
const rampOn = 0x18;
/** 40 dB in 40 ms. */
const rampSteps = 80;

/** @returns DAC_VOLUME for a volume of 0 (silence) to 100 (0 dB), in steps of 0.5 dB */
export function volumeRegister(volume: number): number {
	const whole = Math.round(Math.min(100, Math.max(0, volume)));
	return whole === 0 ? silence : fullGain - (100 - whole);
}

/** Registers and their values, named as in the data sheet. */
function bringUp(): readonly (readonly [number, number])[] {
	return [
		// GPIO, I2C_WL: noise filter of the control bus, written twice because the first write can get lost.
		[0x44, 0x08],
		[0x44, 0x08],
		[register.dacMute, hardMute],
		// Clock manager: clock from pin MCLK, at 256 times the sample rate, and all clocks on.
		[0x01, 0x3f],
		// DIV_PRE 1, MULT_PRE 1.
		[0x02, 0x00],
		// ADC_OSR and DAC_OSR 16, single speed; DIV_CLKADC and DIV_CLKDAC 1.
		[0x03, 0x10],
		[0x04, 0x10],
		[0x05, 0x00],
		// Master dividers at their defaults; not inverted, no tri-state.
		[0x06, 0x03],
		[0x07, 0x00],
		[0x08, 0xff],
		// Serial port: I2S (Philips), 16 bits, left slot to the DAC; ADC muted.
		[0x09, 0x0c],
		[0x0a, 0x4c],
		[0x0b, 0x00],
		[0x0c, 0x00],
		// System: bias currents and VSEL, values of the manufacturer's driver.
		[0x10, 0x1f],
		[0x11, 0x7f],
		// CSM_ON, slave.
		[register.reset, 0x80],
		// Analog part and VMID on; ADC modulator and references on.
		[0x0d, 0x01],
		[0x0e, 0x02],
		[0x0f, 0x00],
		// DAC on, output stage for a headphone.
		[0x12, 0x00],
		[0x13, 0x10],
		// DAC offset and range control: DRC_EN off, since it overrides the volume.
		[0x33, 0x00],
		[0x34, 0x00],
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

	/** Runs an action unless the codec has stopped answering: each access could take the full timeout. */
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
			const { io, data, clock, address = 0x18 } = this.#options;
			this.#bus = new io({ data, clock, hz: busHz, address, timeout: timeoutMs });
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
		// INI_REG off. If another firmware left it at 1, all registers read as 0 and ignore writes.
		bus.writeUint8(register.i2c, 0x00);
		if (bus.readUint8(register.chipId1) !== chipId1 || bus.readUint8(register.chipId2) !== chipId2)
			throw new Error("not an ES8311");
		for (const [number, value] of bringUp()) bus.writeUint8(number, value);
		if (!this.#isMuted) this.#fade(bus);
	}

	#release(): void {
		try {
			this.#bus?.close();
		} catch {
			// The bus is discarded anyway.
		}
		this.#bus = undefined;
	}
}
