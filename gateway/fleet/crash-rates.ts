/** Compares how often two versions crash, in a way that few crashes or hours cannot mislead. */

import type { Exposure } from "../extension.js";

/** How often an unchanged version may be said to crash more often. */
const errorRate = 0.001;
const halvings = 50;

/**
 * The lower bound, at a confidence of 99.9% (one-sided), of how many times as often `one` crashes as `other`, in equal times. Crashes are
 * taken as Poisson distributed: then, of all crashes of both, those of `one` are binomially distributed, and the exact bound of
 * Clopper and Pearson of their share gives that of the ratio.
 * Sources: J. Przyborowski and H. Wilenski, "Homogeneity of results in testing samples from Poisson series", Biometrika 31 (1940);
 * C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26 (1934).
 * @returns 0 if nothing can be said
 */
export function leastRatio(one: Exposure, other: Exposure): number {
	if (one.count === 0 || one.time <= 0 || other.time <= 0) return 0;
	const all = one.count + other.count;
	/** Between 0 and the share that was seen; the tail grows with the share. */
	let low = 0;
	let high = one.count / all;
	const logWays = logBinomial(all, one.count);
	for (let step = 0; step < halvings; step++) {
		const share = (low + high) / 2;
		if (tail(all, one.count, share, logWays) < errorRate) low = share;
		else high = share;
	}
	return (low / (1 - low)) * (other.time / one.time);
}

/** The probability of at least `from` of `all`, where each has the probability `share`, which is below `from / all`. */
function tail(all: number, from: number, share: number, logWays: number): number {
	let term = Math.exp(logWays + from * Math.log(share) + (all - from) * Math.log1p(-share));
	let sum = term;
	for (let count = from; count < all && term > sum * Number.EPSILON; count++) {
		term *= ((all - count) / (count + 1)) * (share / (1 - share));
		sum += term;
	}
	return sum;
}

/** The logarithm of the number of ways to choose `some` of `all`. */
function logBinomial(all: number, some: number): number {
	let sum = 0;
	const fewer = Math.min(some, all - some);
	for (let each = 1; each <= fewer; each++) sum += Math.log((all - fewer + each) / each);
	return sum;
}
