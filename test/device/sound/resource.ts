/** Bytes of a chime. */
export const chimeLevel = 500;
export const chimeSamples = 8_000;
const headerBytes = 12;

/** Moddable's `Resource` in Node: chimes of half a second with equal samples. */
export default class Resource extends ArrayBuffer {
	constructor(_name: string) {
		super(headerBytes + chimeSamples * 2);
		new Int16Array(this, headerBytes).fill(chimeLevel);
	}
}
