/** How V8 treats the memory of a process that passes messages on. */

import { setFlagsFromString } from "node:v8";

/**
 * Has V8 take every new object for a short-lived one; to be called before the first connection. Otherwise it finds, while a
 * fleet connects, that the empty lists which `ws` keeps for a socket's next message live long, and makes all later ones
 * among long-lived objects, where each holds on to a message that has been done with: then the whole heap has to be marked
 * every few thousand messages, with as many threads as there are processors.
 *
 * @see https://v8.dev/blog/trash-talk and `allocation_site_pretenuring` in V8's flag-definitions.h
 */
export function takeObjectsForShortLived(): void {
	setFlagsFromString("--no-allocation-site-pretenuring");
}
