/**
 * Seed of random tests. It is constant, so that a run fails because of a change and not by chance. TEST_SEED=random
 * selects another one, which the test prints; TEST_SEED=<number> repeats it.
 */

const text = process.env.TEST_SEED || "1";

/** 0 to 999,999, or the given number. @throws {Error} */
export const seed = text === "random" ? Date.now() % 1_000_000 : Number(text);
if (!Number.isSafeInteger(seed) || seed < 0)
	throw new Error(`TEST_SEED must be a whole number or "random", not ${JSON.stringify(text)}.`);

/** Note for `t.diagnostic` on how to reproduce the run. */
export const seedNote = `TEST_SEED=${seed}`;
