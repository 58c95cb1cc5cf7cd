/**
 * NVS partition images for flashing a device's settings. Readable by `nvs_get_str`, and thus by the SDK's
 * `embedded:storage/key-value`.
 */

import {
	decodeItemHeader,
	decodePageHeader,
	decodeString,
	encodeNamespace,
	encodePageHeader,
	encodeString,
	entriesPerPage,
	entryBytes,
	entryOffset,
	entryState,
	entryType,
	type ItemHeader,
	isWhole,
	namespacesIndex,
	pageBytes,
	pageState,
	setEntryState,
	stateTableBytes,
	stateTableOffset,
	viewOf,
} from "./nvs-format.js";

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
