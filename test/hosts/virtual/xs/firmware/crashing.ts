/** A firmware that ends before it has done anything. */
export default function main(): void {
	throw new Error("this firmware crashes at its start");
}
