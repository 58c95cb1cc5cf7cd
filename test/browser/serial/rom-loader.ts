/**
 * Simulated serial loader of an ESP32-S3: the commands of the ROM and of the stub that esptool-js uploads. Writes to a
 * virtual device's flash. (Espressif: "Serial Protocol" in esptool's documentation.)
 */

import { inflateSync } from "node:zlib";
import { type Flash, sectorBytes } from "../../../hosts/virtual/node/boot/flash.js";
import { SlipDecoder, slipEncode } from "./slip.js";

const operations = Object.freeze({
	memoryBegin: 0x05,
	memoryEnd: 0x06,
	memoryData: 0x07,
	sync: 0x08,
	writeRegister: 0x09,
	readRegister: 0x0a,
	attachFlash: 0x0d,
	changeBaudRate: 0x0f,
	deflateBegin: 0x10,
	deflateData: 0x11,
	deflateEnd: 0x12,
	securityInfo: 0x14,
});
const failures = Object.freeze({ none: 0, unknownCommand: 5, wrongChecksum: 7, broken: 0xc1 });

const registers = Object.freeze({
	/** Register with the low 32 bits of the MAC address; the high bits follow. */
	mac: 0x6000_7044,
	flashCommand: 0x6000_2000,
	flashWord: 0x6000_2058,
});
/** JEDEC size code of 16 MB. */
const flashId = 0x18_40_20;

export interface RomLoaderOptions {
	readonly flash: Flash;
	/** MAC address, six bytes. */
	readonly mac: Uint8Array;
	/** Chip id as in an image header. */
	readonly chipId: number;
	/** Baud rate of the line. */
	readonly onBaudRate: (bitsPerSecond: number) => void;
}

interface Writing {
	readonly offset: number;
	readonly byteLength: number;
	readonly blocks: number;
	readonly received: Buffer[];
}

export class RomLoader {
	readonly #options: RomLoaderOptions;
	readonly #slip = new SlipDecoder();
	#isStub = false;
	#writing: Writing | undefined;
	#blocks = 0;

	constructor(options: RomLoaderOptions) {
		this.#options = options;
	}

	/** Number of blocks written. */
	get blocks(): number {
		return this.#blocks;
	}

	/** @returns the response on the line */
	write(bytes: Uint8Array): Buffer {
		return Buffer.concat(this.#slip.decode(bytes).map((packet) => this.#execute(packet)));
	}

	#execute(packet: Buffer): Buffer {
		if (packet.length < 8 || packet[0] !== 0) return Buffer.alloc(0);
		const operation = packet.readUInt8(1);
		const data = packet.subarray(8, 8 + packet.readUInt16LE(2));
		switch (operation) {
			case operations.sync:
				// The ROM responds eight times, with a value that the stub does not use.
				return Buffer.concat(Array.from({ length: 8 }, () => this.#answer(operation, this.#isStub ? 0 : 7)));
			case operations.readRegister:
				return this.#answer(operation, this.#register(data.readUInt32LE()));
			case operations.writeRegister:
			case operations.securityInfo:
				return this.#answer(operation, 0, failures.none, this.#securityInfo());
			case operations.attachFlash:
			case operations.memoryBegin:
			case operations.deflateEnd:
				return this.#answer(operation);
			case operations.memoryData:
				return this.#answer(operation, 0, checksumFailure(packet));
			case operations.memoryEnd: {
				const answer = this.#answer(operation);
				this.#isStub = true;
				return Buffer.concat([answer, slipEncode(Buffer.from("OHAI"))]);
			}
			case operations.changeBaudRate:
				this.#options.onBaudRate(data.readUInt32LE());
				return this.#answer(operation);
			case operations.deflateBegin:
				return this.#begin(operation, data);
			case operations.deflateData:
				return this.#answer(operation, 0, checksumFailure(packet) || this.#take(data));
			default:
				return this.#answer(operation, 0, failures.unknownCommand);
		}
	}

	/** Status bytes: four from the ROM, two from the stub. */
	#answer(
		operation: number,
		value = 0,
		failure: number = failures.none,
		data: Uint8Array = new Uint8Array(),
	): Buffer {
		const status = Buffer.alloc(this.#isStub ? 2 : 4);
		status.writeUInt8(failure ? 1 : 0, 0);
		status.writeUInt8(failure, 1);
		const head = Buffer.alloc(8);
		head.writeUInt8(1, 0);
		head.writeUInt8(operation, 1);
		head.writeUInt16LE(data.length + status.length, 2);
		head.writeUInt32LE(value >>> 0, 4);
		return slipEncode(Buffer.concat([head, data, status]));
	}

	/** Security info without enabled features. */
	#securityInfo(): Buffer {
		const info = Buffer.alloc(20);
		info.writeUInt32LE(this.#options.chipId, 12);
		return info;
	}

	#register(address: number): number {
		const { mac } = this.#options;
		const bytes = Buffer.from(mac);
		if (address === registers.mac) return bytes.readUInt32BE(2);
		if (address === registers.mac + 4) return bytes.readUInt16BE(0);
		if (address === registers.flashWord) return flashId;
		return 0;
	}

	#begin(operation: number, data: Buffer): Buffer {
		const [byteLength, blocks] = [data.readUInt32LE(0), data.readUInt32LE(4)];
		this.#writing = { offset: data.readUInt32LE(12), byteLength, blocks, received: [] };
		return this.#answer(operation, 0, this.#isStub ? failures.none : failures.unknownCommand);
	}

	/** @returns an error status */
	#take(data: Buffer): number {
		const writing = this.#writing;
		if (!writing || data.readUInt32LE(4) !== writing.received.length) return failures.broken;
		writing.received.push(data.subarray(16, 16 + data.readUInt32LE(0)));
		this.#blocks += 1;
		if (writing.received.length < writing.blocks) return failures.none;
		this.#writing = undefined;
		const bytes = inflateSync(Buffer.concat(writing.received));
		if (bytes.length !== writing.byteLength) return failures.broken;
		// Flash is erased in whole sectors.
		const end = Math.ceil((writing.offset + bytes.length) / sectorBytes) * sectorBytes;
		const padding = Buffer.alloc(end - writing.offset - bytes.length, 0xff);
		this.#options.flash.load(writing.offset, Buffer.concat([bytes, padding]));
		return failures.none;
	}
}

/** Payload of a data packet, after its header of 16 bytes. */
function checksumFailure(packet: Buffer): number {
	let checksum = 0xef;
	for (const byte of packet.subarray(8 + 16)) checksum ^= byte;
	return checksum === packet.readUInt32LE(4) ? failures.none : failures.wrongChecksum;
}
