/** How V8 treats the memory of a process that passes messages on. */

import { setFlagsFromString } from "node:v8";

/**
 * Has V8 take every new object for a short-lived one; to be called before the first connection. Otherwise it finds, while a
 * fleet connects, that the empty lists which `ws` keeps for a socket's next message live long, and makes all later ones
 * among long-lived objects, where each holds on to a message that has been done with: then the whole heap has to be marked
 * every few thousand messages. With what `npm start` gives Node (`--v8-pool-size=1`, which cannot be set later) V8 then has
 * one helper: its usual four take the gateway's own turn away where there are two processors.
 *
 * @see `allocation_site_pretenuring` in V8's flag-definitions.h
 */
export function takeObjectsForShortLived(): void {
	setFlagsFromString("--no-allocation-site-pretenuring");
}
