/**
 * Numbers that look random and are the same in each run.
 *
 * @returns a function that gives an integer from 0 to below its argument
 */
export function randomNumbers(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 2 ** 32) * below);
	};
}
