import { exit, heap, uptime } from "virtual/natives";

/** What the host's `system` asks of the machine that it runs on. */

/** Milliseconds since the device started; does not wrap and is never set. */
export function uptimeMs(): number {
	return uptime();
}

/** Bytes that are free in the device's heap, as a board counts them (a slot is 16 bytes). */
export function freeHeapBytes(): number {
	return heap();
}

/** Ends the process with "restart": the host starts the device again. */
export function restart(): never {
	return exit("restart");
}

/** Ends the process with "quit": the device is switched off. */
export function quit(): never {
	return exit("quit");
}
