/**
 * Strings in an NVS partition, by ESP-IDF's rules: a new value is written before the old one is erased, so that one of them
 * survives a power cut, and one page stays free for moving the items of the page with the most erased entries. (ESP-IDF v6.0,
 * nvs_storage.cpp and nvs_pagemanager.cpp.)
 */

import {
	decodeString,
	encodeNamespace,
	encodeString,
	entriesPerPage,
	entryBytes,
	entryType,
	namespacesIndex,
	pageBytes,
} from "../../../esp32/nvs-format.js";
import type { Flash } from "./flash.js";
import { type NvsItem, NvsPage } from "./nvs-page.js";
import type { Partition } from "./partitions.js";

export interface NvsStoreOptions {
	readonly flash: Flash;
	readonly partition: Partition;
	/** 1 to 15 ASCII characters. */
	readonly namespace: string;
}

interface Place {
	readonly page: NvsPage;
	readonly item: NvsItem;
}

export class NvsStore {
	/** In use, the oldest first. */
	readonly #pages: NvsPage[];
	/** In order of use. */
	readonly #free: NvsPage[];
	readonly #namespace: number;
	#nextSequence: number;

	/**
	 * Completes an interrupted operation.
	 *
	 * @throws PowerCut
	 * @throws Error with ESP-IDF's name if the partition has no free page or a later version
	 */
	constructor({ flash, partition, namespace }: NvsStoreOptions) {
		const all = Array.from(
			{ length: partition.byteLength / pageBytes },
			(_, index) => new NvsPage({ flash, offset: partition.offset + index * pageBytes }),
		);
		this.#pages = all.filter((page) => page.isInUse).sort((a, b) => a.sequence - b.sequence);
		this.#free = all.filter((page) => !page.isInUse);
		const last = this.#pages.at(-1);
		this.#nextSequence = last ? last.sequence + 1 : 0;
		if (last) this.#recover(last);
		if (this.#free.length === 0) throw new Error("ESP_ERR_NVS_NO_FREE_PAGES");
		this.#namespace = this.#openNamespace(namespace);
	}

	read(key: string): string | undefined {
		const found = this.#find(key);
		return found && decodeString(found.item.header, found.item.bytes.subarray(entryBytes));
	}

	/**
	 * @throws {RangeError} if key or value do not fit NVS
	 * @throws Error if the partition is full; the old value stays
	 */
	write(key: string, value: string): void {
		if (this.read(key) === value) return;
		const isKnown = this.#find(key) !== undefined;
		this.#append(encodeString(this.#namespace, key, value));
		// Searched after the write, which may have moved it.
		if (isKnown) this.#erase(this.#find(key));
	}

	delete(key: string): void {
		this.#erase(this.#find(key));
	}

	/** The oldest item of that key: until the old one is erased there are two. */
	#find(key: string): Place | undefined {
		return this.#search(
			({ header }) =>
				header.namespaceIndex === this.#namespace && header.type === entryType.string && header.key === key,
		);
	}

	#search(isMeant: (item: NvsItem) => boolean): Place | undefined {
		for (const page of this.#pages) for (const item of page.items()) if (isMeant(item)) return { page, item };
		return undefined;
	}

	#erase(place: Place | undefined): void {
		place?.page.erase(place.item.index, place.item.header.span);
	}

	#openNamespace(name: string): number {
		const used = new Set<number>();
		for (const page of this.#pages)
			for (const { header } of page.items())
				if (header.namespaceIndex === namespacesIndex) {
					if (header.key === name) return header.byte;
					used.add(header.byte);
				}
		let index = 1;
		while (used.has(index)) index += 1;
		this.#append(encodeNamespace(name, index));
		return index;
	}

	#append(item: Uint8Array): void {
		const current = this.#pages.at(-1) ?? this.#activate();
		if (current.append(item)) return;
		current.markFull();
		if (!this.#makeRoom().append(item)) throw new Error("ESP_ERR_NVS_NOT_ENOUGH_SPACE");
	}

	#makeRoom(): NvsPage {
		if (this.#free.length >= 2) return this.#activate();
		let emptiest: NvsPage | undefined;
		for (const page of this.#pages)
			if (page.usedEntries < (emptiest?.usedEntries ?? entriesPerPage)) emptiest = page;
		if (!emptiest) throw new Error("ESP_ERR_NVS_NOT_ENOUGH_SPACE");
		emptiest.markFreeing();
		return this.#moveItems(emptiest);
	}

	#activate(): NvsPage {
		const page = this.#free.shift();
		if (!page) throw new Error("ESP_ERR_NVS_NOT_ENOUGH_SPACE");
		page.activate(this.#nextSequence);
		this.#nextSequence += 1;
		this.#pages.push(page);
		return page;
	}

	#moveItems(page: NvsPage): NvsPage {
		const target = this.#activate();
		for (const { bytes } of page.items()) target.append(bytes);
		page.wipe();
		this.#release(page);
		return target;
	}

	#release(page: NvsPage): void {
		this.#pages.splice(this.#pages.indexOf(page), 1);
		this.#free.push(page);
	}

	/** @param last the page that was written last */
	#recover(last: NvsPage): void {
		this.#eraseReplaced(last);
		const freeing = this.#pages.find((page) => page.isFreeing);
		if (!freeing) return;
		// The interrupted move starts again.
		if (last.isActive) {
			last.wipe();
			this.#release(last);
		}
		this.#moveItems(freeing);
	}

	/** Erases the old value of the last item, if that was interrupted. */
	#eraseReplaced(last: NvsPage): void {
		const newest = [...last.items()].at(-1);
		if (newest?.header.type !== entryType.string) return;
		const { namespaceIndex, key, type } = newest.header;
		for (const page of this.#pages) {
			if (page.isFreeing) continue;
			for (const { index, header } of page.items()) {
				if (page === last && index === newest.index) continue;
				if (header.namespaceIndex === namespaceIndex && header.key === key && header.type === type)
					page.erase(index, header.span);
			}
		}
	}
}
