export const culprit = compute();

function compute(): number {
	throw new RangeError("while loading");
}
