/**
 * Keeps V8 from marking the whole heap every few seconds.
 *
 * `npm start` sets `--v8-pool-size=1`: V8's usual four helpers would delay the event loop on two processors. It also
 * sets `--max-semi-space-size=4` (MB; V8's own is 16): with 10,000 devices a collection of young objects then takes 3 ms
 * in place of 10, and all of them together as long as before.
 */

import * as ws from "ws";

const list = Symbol("fragments");

interface Receiver {
	[list]?: unknown[] | undefined;
}

/**
 * To be called before the first connection. The receiver of `ws` makes an empty list for a socket's next message, in
 * `_fragments`. When that message comes, the list is among long-lived objects, where it keeps the message after it was
 * handled: so V8 would have to mark the heap every few thousand messages. This has the list made when the message comes. At 10,000
 * devices (`npm run bench -- relay`) a report costs 27 µs with it and 47 without.
 */
export function makeFragmentListsLate(): void {
	const receiver: unknown = Reflect.get(ws, "Receiver");
	if (typeof receiver !== "function") return;
	Object.defineProperty(receiver.prototype, "_fragments", {
		get(this: Receiver): unknown[] {
			this[list] ??= [];
			return this[list];
		},
		set(this: Receiver, value: unknown[]): void {
			this[list] = value.length > 0 ? value : undefined;
		},
	});
}
