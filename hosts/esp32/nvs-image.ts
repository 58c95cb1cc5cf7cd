/**
 * NVS partition images for flashing a device's settings, in the format of ESP-IDF's NVS, version 2. Readable by `nvs_get_str`, and thus by
 * the SDK's `embedded:storage/key-value`. A page is a flash sector with a header, two state bits per entry, and 126 entries of 32 bytes.
 * Source: ESP-IDF v6.0, NVS documentation, "Internals"; nvs_flash/src/nvs_page.cpp and nvs_types.cpp.
 */

export const pageBytes = 4096;
export const entryBytes = 32;
const entriesPerPage = 126;
export const stateTableOffset = 32;
const stateTableBytes = 32;

/** Each state clears one more bit, so that no transition requires an erase. */
const pageState = Object.freeze({
	active: 0xffff_fffe,
	full: 0xffff_fffc,
	freeing: 0xffff_fff8,
});

export const entryState = Object.freeze({ empty: 3, written: 2, erased: 0 });

const entryType = Object.freeze({ u8: 0x01, string: 0x21 });

/** Namespace that stores the index of each other namespace as a `u8` under its name. */
const namespacesIndex = 0;
const longestKey = 15;
/** Bytes of UTF-8: 125 entries minus the NUL. */
export const longestString = (entriesPerPage - 1) * entryBytes - 1;

/** Lower numbers are later versions. */
const version = 0xfe;
const headerCrcOffset = 28;
const noChunk = 0xff;

export function entryOffset(index: number): number {
	return stateTableOffset + stateTableBytes + index * entryBytes;
}

function viewOf(bytes: Uint8Array): DataView {
	return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function encodePageHeader(sequence: number): Uint8Array {
	const header = new Uint8Array(stateTableOffset).fill(0xff);
	const view = viewOf(header);
	view.setUint32(0, pageState.active, true);
	view.setUint32(4, sequence, true);
	view.setUint8(8, version);
	view.setUint32(headerCrcOffset, romCrc32(header.subarray(4, headerCrcOffset)), true);
	return header;
}

/**
 * @param header at least the first 32 bytes of a page
 * @returns undefined if the page is not in use
 * @throws Error if a later ESP-IDF wrote the page
 */
function decodePageHeader(header: Uint8Array): { state: number; sequence: number } | undefined {
	const view = viewOf(header);
	const state = view.getUint32(0, true);
	if (state !== pageState.active && state !== pageState.full && state !== pageState.freeing) return undefined;
	if (view.getUint32(headerCrcOffset, true) !== romCrc32(header.subarray(4, headerCrcOffset)))
		return undefined;
	if (view.getUint8(8) < version)
		throw new Error("Unsupported NVS version: a newer ESP-IDF wrote this partition.");
	return { state, sequence: view.getUint32(4, true) };
}

function readEntryState(table: Uint8Array, index: number): number {
	return ((table[index >> 2] ?? 0) >> ((index & 3) * 2)) & 3;
}

export function setEntryState(table: Uint8Array, index: number, state: number): void {
	const shift = (index & 3) * 2;
	table[index >> 2] = ((table[index >> 2] ?? 0) & ~(3 << shift)) | (state << shift);
}

/** @returns whether all entries of an item are written */
function isWhole(states: Uint8Array, index: number, span: number): boolean {
	for (let entry = index; entry < index + span; entry++)
		if (readEntryState(states, entry) !== entryState.written) return false;
	return true;
}

export function encodeNamespace(name: string, index: number): Uint8Array {
	const entry = makeEntry(namespacesIndex, entryType.u8, 1, name);
	entry[24] = index;
	return sealed(entry);
}

/** @throws {RangeError} if the key is not 1 to 15 ASCII characters, or the value contains a NUL or is too long */
export function encodeString(namespaceIndex: number, key: string, value: string): Uint8Array {
	const data = new TextEncoder().encode(`${value}\0`);
	if (data.byteLength > longestString + 1)
		throw new RangeError(
			`${key} has ${data.byteLength - 1} bytes; the maximum is ${longestString}. Shorten it.`,
		);
	if (value.includes("\0")) throw new RangeError(`${key} must not contain a NUL character.`);
	const span = 1 + Math.ceil(data.byteLength / entryBytes);
	const entry = makeEntry(namespaceIndex, entryType.string, span, key);
	const view = viewOf(entry);
	view.setUint16(24, data.byteLength, true);
	view.setUint32(28, romCrc32(data), true);
	const item = new Uint8Array(span * entryBytes).fill(0xff);
	item.set(sealed(entry));
	item.set(data, entryBytes);
	return item;
}

/**
 * @param index index of the entry in the page, which limits the span
 * @returns undefined if the entry is damaged or not the first one of an item
 */
function decodeItemHeader(entry: Uint8Array, index: number) {
	const view = viewOf(entry);
	if (view.getUint32(4, true) !== crcOf(entry)) return undefined;
	const type = view.getUint8(1);
	const span = view.getUint8(2);
	if (span === 0 || index + span > entriesPerPage) return undefined;
	const keyEnd = entry.indexOf(0, 8);
	const key = String.fromCharCode(...entry.subarray(8, keyEnd >= 8 && keyEnd < 24 ? keyEnd : 24));
	return {
		namespaceIndex: view.getUint8(0),
		type,
		/** Number of entries, including this one. */
		span,
		key,
		/** Value of a `u8` item. */
		byte: view.getUint8(24),
		/** Length of a string, stored in the following entries. */
		dataBytes: type === entryType.string ? view.getUint16(24, true) : 0,
		dataCrc: view.getUint32(28, true),
	};
}
type ItemHeader = NonNullable<ReturnType<typeof decodeItemHeader>>;

/** @returns undefined if the bytes are damaged */
function decodeString(item: ItemHeader, data: Uint8Array): string | undefined {
	const bytes = data.subarray(0, item.dataBytes);
	if (item.dataBytes === 0 || romCrc32(bytes) !== item.dataCrc) return undefined;
	return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}

function makeEntry(namespaceIndex: number, type: number, span: number, key: string): Uint8Array {
	if (!/^[!-~]{1,15}$/.test(key))
		throw new RangeError(`The key "${key}" must have 1 to ${longestKey} ASCII characters without spaces.`);
	const entry = new Uint8Array(entryBytes).fill(0xff);
	entry.set([namespaceIndex, type, span, noChunk]);
	entry.fill(0, 8, 24);
	for (let at = 0; at < key.length; at++) entry[8 + at] = key.charCodeAt(at);
	return entry;
}

function sealed(entry: Uint8Array): Uint8Array {
	viewOf(entry).setUint32(4, crcOf(entry), true);
	return entry;
}

function crcOf(entry: Uint8Array): number {
	const covered = new Uint8Array(entryBytes - 4);
	covered.set(entry.subarray(0, 4));
	covered.set(entry.subarray(8), 4);
	return romCrc32(covered);
}

/** Polynomial 0xEDB88320. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
	let crc = byte;
	for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
	return crc;
});

/** `esp_rom_crc32_le(UINT32_MAX, bytes, length)`. Starts at 0, since the ROM function inverts the given start value. */
function romCrc32(bytes: Uint8Array): number {
	let crc = 0;
	for (let at = 0; at < bytes.length; at++)
		crc = (crc >>> 8) ^ (crcTable[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
	return ~crc >>> 0;
}

/** Same value in storage.ts. */
export const settingsNamespace = "settings";

export interface NvsImageOptions {
	/** Size of the partition: a multiple of 4096, at least 12,288. */
	readonly byteLength: number;
	/** 1 to 15 ASCII characters, like the keys of `values`. */
	readonly namespace: string;
	/** At most 3999 bytes of UTF-8 per value. */
	readonly values: Readonly<Record<string, string>>;
}

const firstIndex = 1;

/** @throws {RangeError} if the values do not fit, or a name or value is invalid */
export function makeNvsImage({ byteLength, namespace, values }: NvsImageOptions): Uint8Array {
	if (byteLength % pageBytes !== 0 || byteLength < 3 * pageBytes)
		throw new RangeError(
			`An NVS partition requires at least 3 pages of ${pageBytes} bytes, not ${byteLength} bytes.`,
		);
	const items = Object.entries(values).map(([key, value]) => encodeString(firstIndex, key, value));
	const image = new Uint8Array(byteLength).fill(0xff);
	let page = beginPage(image, 0);
	let sequence = 0;
	let next = 0;
	for (const item of [encodeNamespace(namespace, firstIndex), ...items]) {
		const span = item.byteLength / entryBytes;
		if (next + span > entriesPerPage) {
			viewOf(page).setUint32(0, pageState.full, true);
			sequence += 1;
			// NVS requires one free page.
			if ((sequence + 2) * pageBytes > byteLength)
				throw new RangeError(`The settings do not fit into an NVS partition of ${byteLength} bytes.`);
			page = beginPage(image, sequence);
			next = 0;
		}
		page.set(item, entryOffset(next));
		const states = page.subarray(stateTableOffset, stateTableOffset + stateTableBytes);
		for (const end = next + span; next < end; next++) setEntryState(states, next, entryState.written);
	}
	return image;
}

function beginPage(image: Uint8Array, sequence: number): Uint8Array {
	const page = image.subarray(sequence * pageBytes, (sequence + 1) * pageBytes);
	page.set(encodePageHeader(sequence));
	return page;
}

/**
 * Reads the strings of a namespace like the device does: skips erased and damaged items, and prefers the later of two values.
 *
 * @param image content of the whole partition
 * @throws Error if a later ESP-IDF wrote it
 */
export function readNvs(image: Uint8Array, namespace: string): Map<string, string> {
	const pages = pagesOf(image);
	const indexes = new Set<number>();
	for (const page of pages)
		for (const { header } of itemsOf(page))
			if (header.namespaceIndex === namespacesIndex && header.key === namespace) indexes.add(header.byte);
	const values = new Map<string, string>();
	for (const page of pages)
		for (const { header, data } of itemsOf(page)) {
			if (header.type !== entryType.string || !indexes.has(header.namespaceIndex)) continue;
			const value = decodeString(header, data);
			if (value !== undefined) values.set(header.key, value);
		}
	return values;
}

/** @returns the pages in use, oldest first */
function pagesOf(image: Uint8Array): readonly Uint8Array[] {
	const pages: { sequence: number; page: Uint8Array }[] = [];
	for (let start = 0; start + pageBytes <= image.byteLength; start += pageBytes) {
		const page = image.subarray(start, start + pageBytes);
		const header = decodePageHeader(page);
		if (header) pages.push({ sequence: header.sequence, page });
	}
	return pages.sort((a, b) => a.sequence - b.sequence).map(({ page }) => page);
}

function* itemsOf(page: Uint8Array): Generator<{ readonly header: ItemHeader; readonly data: Uint8Array }> {
	const states = page.subarray(stateTableOffset, stateTableOffset + stateTableBytes);
	for (let index = 0; index < entriesPerPage; ) {
		const offset = entryOffset(index);
		const header = decodeItemHeader(page.subarray(offset, offset + entryBytes), index);
		const span = header?.span ?? 1;
		if (header && isWhole(states, index, span))
			yield { header, data: page.subarray(offset + entryBytes, offset + span * entryBytes) };
		index += span;
	}
}
