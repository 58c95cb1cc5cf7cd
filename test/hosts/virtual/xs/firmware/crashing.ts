/** Firmware that crashes at its start. */
export default function main(): void {
	throw new Error("this firmware crashes at its start");
}
