/** Firmware with an endless loop. */
export default function main(): void {
	for (;;);
}
