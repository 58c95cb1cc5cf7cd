/**
 * From which tests draw what is random. It is always the same one, so that a run fails by a change and not by chance.
 * TEST_SEED=random draws another, which the test prints; TEST_SEED=<number> repeats it.
 */

const given = process.env.TEST_SEED || "1";

/** 0 to 999,999, or the number that was given. @throws {Error} */
export const seed = given === "random" ? Date.now() % 1_000_000 : Number(given);
if (!Number.isSafeInteger(seed) || seed < 0)
	throw new Error(`TEST_SEED must be a whole number or "random", and is ${JSON.stringify(given)}.`);

/** For `t.diagnostic`: how to draw the same again. */
export const seedNote = `TEST_SEED=${seed}`;
