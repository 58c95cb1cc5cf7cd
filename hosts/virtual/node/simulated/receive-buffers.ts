/**
 * Wi-Fi receive buffers of a board, shared by all of its connections. Each segment that the firmware has not read occupies one (ESP-IDF,
 * esp_netif/lwip/netif/wlanif.c). Without a free buffer nothing is received.
 */

/** CONFIG_LWIP_TCP_WND_DEFAULT of the boards, in bytes. */
export const windowBytes = 16_384;
/** CONFIG_ESP_WIFI_DYNAMIC_RX_BUFFER_NUM of the boards. */
const bufferCount = 32;
/** LWIP_TCP_MSS. */
const segmentBytes = 1_440;

export class ReceiveBuffers {
	/** Number of buffers occupied by each connection. */
	readonly #occupied = new Map<object, number>();
	/** Callbacks waiting for a free buffer, oldest first. */
	readonly #waiting = new Map<object, () => void>();

	/**
	 * @param byteCount unread bytes of the connection
	 * @param onFree called once when a buffer is free, if not all bytes fit
	 * @returns the number of bytes that fit
	 */
	occupy(connection: object, byteCount: number, onFree: () => void): number {
		const previous = this.#occupied.get(connection) ?? 0;
		const free = bufferCount - this.#count + previous;
		const needed = Math.ceil(byteCount / segmentBytes);
		const taken = Math.min(needed, free);
		this.#occupied.set(connection, taken);
		this.#waiting.delete(connection);
		if (taken < needed) this.#waiting.set(connection, onFree);
		if (taken < previous) this.#notifyWaiting(connection);
		return taken * segmentBytes;
	}

	/** Releases the buffers of a closed connection. */
	release(connection: object): void {
		this.#waiting.delete(connection);
		if (this.#occupied.delete(connection)) this.#notifyWaiting(connection);
	}

	get #count(): number {
		let count = 0;
		for (const buffers of this.#occupied.values()) count += buffers;
		return count;
	}

	/** Notifies connections other than the one that freed a buffer. */
	#notifyWaiting(connection: object): void {
		for (const [waiting, onFree] of [...this.#waiting])
			if (waiting !== connection && this.#waiting.delete(waiting)) onFree();
	}
}
