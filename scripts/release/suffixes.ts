/** Suffix array construction for the search of matches. */

/**
 * SA-IS: G. Nong, S. Zhang, W. H. Chan, "Two Efficient Algorithms for Linear Time Suffix Array Construction" (2011).
 * @param text numbers from 0 to `upper`
 * @returns start positions of the suffixes in order; a suffix precedes those that it is a prefix of
 */
export function sortSuffixes(text: Uint8Array | Int32Array, upper = 255): Int32Array {
	const count = text.length;
	const sorted = new Int32Array(count);
	if (count < 2) return sorted;
	const at = (index: number) => text[index] ?? 0;

	/** 1 if a suffix precedes the next one (S-type). */
	const isRising = new Uint8Array(count);
	for (let index = count - 2; index >= 0; index--)
		isRising[index] = at(index) === at(index + 1) ? (isRising[index + 1] ?? 0) : +(at(index) < at(index + 1));
	/** Whether a suffix is leftmost S-type, from which the order of the others is induced. */
	const isLeftmost = (index: number) => index > 0 && isRising[index] === 1 && isRising[index - 1] === 0;

	const { falling, rising } = countLetters(text, isRising, upper);
	const induce = (leftmost: Int32Array) => {
		sorted.fill(-1);
		const next = rising.slice();
		for (const index of leftmost) put(sorted, next, at(index), index);
		next.set(falling);
		put(sorted, next, at(count - 1), count - 1);
		for (let place = 0; place < count; place++) {
			const index = (sorted[place] ?? 0) - 1;
			if (index >= 0 && isRising[index] === 0) put(sorted, next, at(index), index);
		}
		// Fills the buckets from their ends.
		next.set(falling.subarray(1));
		for (let place = count - 1; place >= 0; place--) {
			const index = (sorted[place] ?? 0) - 1;
			if (index < 0 || isRising[index] === 0) continue;
			const end = (next[at(index)] ?? 0) - 1;
			next[at(index)] = end;
			sorted[end] = index;
		}
	};

	const leftmost: number[] = [];
	for (let index = 1; index < count; index++) if (isLeftmost(index)) leftmost.push(index);
	induce(Int32Array.from(leftmost));
	if (leftmost.length > 1) induce(sortLeftmost(leftmost, sorted, text, isLeftmost));
	return sorted;
}

function put(sorted: Int32Array, next: Int32Array, letter: number, index: number): void {
	const place = next[letter] ?? 0;
	sorted[place] = index;
	next[letter] = place + 1;
}

/** Bucket starts of the L-type and, after them, the S-type suffixes of each letter. */
function countLetters(text: Uint8Array | Int32Array, isRising: Uint8Array, upper: number) {
	const falling = new Int32Array(upper + 2);
	const rising = new Int32Array(upper + 2);
	for (let index = 0; index < text.length; index++) {
		const letter = text[index] ?? 0;
		const counts = isRising[index] === 1 ? rising : falling;
		counts[letter] = (counts[letter] ?? 0) + 1;
	}
	let place = 0;
	for (let letter = 0; letter < falling.length; letter++) {
		const low = falling[letter] ?? 0;
		const high = rising[letter] ?? 0;
		falling[letter] = place;
		rising[letter] = place + low;
		place += low + high;
	}
	return { falling, rising };
}

/** Assigns equal names to equal substrings, and sorts the text of the names recursively. */
function sortLeftmost(
	leftmost: readonly number[],
	sorted: Int32Array,
	text: Uint8Array | Int32Array,
	isLeftmost: (index: number) => boolean,
): Int32Array {
	const order = new Int32Array(text.length);
	const ends = Int32Array.from(leftmost, (_, nth) => leftmost[nth + 1] ?? text.length);
	for (const [nth, index] of leftmost.entries()) order[index] = nth;
	const names = new Int32Array(leftmost.length);
	let name = 0;
	let previous = -1;
	for (const index of sorted) {
		if (!isLeftmost(index)) continue;
		const nth = order[index] ?? 0;
		if (previous >= 0 && !areEqual(text, leftmost, ends, previous, nth)) name += 1;
		names[nth] = name;
		previous = nth;
	}
	return sortSuffixes(names, name).map((nth) => leftmost[nth] ?? 0);
}

/** Whether two substrings are equal, including the first letter of the next one; the last one has none. */
function areEqual(
	text: Uint8Array | Int32Array,
	starts: readonly number[],
	ends: Int32Array,
	a: number,
	b: number,
): boolean {
	const start = starts[a] ?? 0;
	const second = starts[b] ?? 0;
	const length = (ends[a] ?? 0) - start;
	if ((ends[b] ?? 0) - second !== length) return false;
	for (let at = 0; at <= length; at++) if (text[start + at] !== text[second + at]) return false;
	return true;
}
