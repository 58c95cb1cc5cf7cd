import { setFlagsFromString } from "node:v8";

/**
 * Turns off V8's allocation-site pretenuring; to be called before the first connection. While a fleet connects, V8
 * learns that the empty lists of `ws` for a socket's next message live long, and allocates all later ones among
 * long-lived objects. There each keeps a handled message alive, and V8 marks the whole heap every few thousand
 * messages.
 *
 * `npm start` sets `--v8-pool-size=1`: V8's usual four helpers would delay the event loop on two processors. It also
 * sets `--max-semi-space-size=4` (MB; V8's own is 16): with 10,000 devices a collection of young objects then takes 3 ms
 * in place of 10, and all of them together as long as before.
 * @see `allocation_site_pretenuring` in V8's flag-definitions.h
 */
export function disablePretenuring(): void {
	setFlagsFromString("--no-allocation-site-pretenuring");
}
