/** A firmware that never comes to rest. */
export default function main(): void {
	for (;;);
}
