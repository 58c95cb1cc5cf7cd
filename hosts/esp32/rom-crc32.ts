/** CRC-32 as the ESP32's ROM computes it, which ESP-IDF uses in NVS and in `otadata`. */

/** What a byte does to the register, for the common polynomial 0xEDB88320. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
	let crc = byte;
	for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
	return crc;
});

/**
 * `esp_rom_crc32_le(UINT32_MAX, bytes, length)`: the common CRC-32, but the register starts at 0, since the ROM inverts the
 * start value that it is given.
 */
export function romCrc32(bytes: Uint8Array): number {
	let crc = 0;
	for (let at = 0; at < bytes.length; at++) crc = (crc >>> 8) ^ (table[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
	return ~crc >>> 0;
}
