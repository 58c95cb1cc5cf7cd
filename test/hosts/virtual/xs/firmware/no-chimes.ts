/** In the place of peripherals/chimes: an image whose chimes were lost. */

export const chimeSampleRate = 16_000;

export function loadChime(): Uint8Array {
	throw new Error("there are no chimes");
}

export function chimeUri(chime: string): string {
	return `file:///chimes/${chime}`;
}
