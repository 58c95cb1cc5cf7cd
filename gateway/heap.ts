import { setFlagsFromString } from "node:v8";

/**
 * Turns off V8's allocation-site pretenuring; to be called before the first connection. While a fleet connects, V8
 * learns that the empty lists of `ws` for a socket's next message live long, and then allocates all later ones among
 * long-lived objects. There each keeps a handled message alive, and the whole heap is marked every few thousand
 * messages.
 *
 * `npm start` sets `--v8-pool-size=1`, which cannot be set later: with V8's usual four helpers the event loop has to
 * wait on two processors.
 * @see `allocation_site_pretenuring` in V8's flag-definitions.h
 */
export function disablePretenuring(): void {
	setFlagsFromString("--no-allocation-site-pretenuring");
}
