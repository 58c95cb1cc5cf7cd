/**
 * The buffers in which a board's Wi-Fi receives, shared by all of its connections. Each segment that the firmware has not read keeps
 * one (ESP-IDF, esp_netif/lwip/netif/wlanif.c); while none is free nothing is received.
 */

/** CONFIG_LWIP_TCP_WND_DEFAULT of the boards, in bytes. */
export const windowBytes = 16_384;
/** CONFIG_ESP_WIFI_DYNAMIC_RX_BUFFER_NUM of the boards. */
const bufferCount = 32;
/** What a segment carries: LWIP_TCP_MSS. */
const segmentBytes = 1_440;

export class ReceiveBuffers {
	/** What each connection occupies. */
	readonly #occupied = new Map<object, number>();
	/** To be told that a buffer is free, oldest first. */
	readonly #waiting = new Map<object, () => void>();

	/**
	 * @param byteCount that has arrived for a connection and is not read
	 * @param onFree called once, where not all of it fits, when a buffer is free
	 * @returns how many bytes of it fit
	 */
	occupy(connection: object, byteCount: number, onFree: () => void): number {
		const previous = this.#occupied.get(connection) ?? 0;
		const free = bufferCount - this.#count + previous;
		const needed = Math.ceil(byteCount / segmentBytes);
		const taken = Math.min(needed, free);
		this.#occupied.set(connection, taken);
		this.#waiting.delete(connection);
		if (taken < needed) this.#waiting.set(connection, onFree);
		if (taken < previous) this.#tellNext(connection);
		return taken * segmentBytes;
	}

	/** The connection has ended. */
	release(connection: object): void {
		this.#waiting.delete(connection);
		if (this.#occupied.delete(connection)) this.#tellNext(connection);
	}

	get #count(): number {
		let count = 0;
		for (const each of this.#occupied.values()) count += each;
		return count;
	}

	/** Others than the one that has freed it. */
	#tellNext(connection: object): void {
		for (const [each, onFree] of [...this.#waiting])
			if (each !== connection && this.#waiting.delete(each)) onFree();
	}
}
