/** Contract tests for implementations of Log. */

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { Log } from "../../../gateway/storage/log.js";
import { sourceOf, within } from "../../support/eventually.js";

/** Notifications in order; `until` waits for one. */
export class Told<T> {
	readonly list: T[] = [];
	#wake = () => {};

	readonly add = (item: T): void => {
		this.list.push(item);
		this.#wake();
	};

	async until(isSo: (list: readonly T[]) => boolean): Promise<readonly T[]> {
		while (!isSo(this.list)) {
			const woken = new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
			await within(woken, () => `${sourceOf(isSo)} of ${JSON.stringify(this.list)}`);
		}
		return this.list;
	}
}

/** Entries passed to a reader: all, once per read, and new ones. */
export async function follow(log: Log) {
	const readings = new Told<readonly (readonly [string, string])[]>();
	const told = new Told<[string, string]>();
	await log.read({
		onAll: (entries) => readings.add(entries.map(([key, { text }]) => [key, text] as const)),
		onEntry: (key, { text }) => told.add([key, text]),
	});
	return {
		all: readings.list,
		told,
		wasRead: (times: number) => readings.until((list) => list.length >= times),
	};
}

/** @param make one log as seen by two writers: the same object if only one process may write */
export function testLog(name: string, make: (t: TestContext) => Promise<readonly [Log, Log]>): void {
	describe(`${name}: log`, () => {
		test("appends only after the latest entry of a key, and reads those of each in order", async (t) => {
			const [ours, theirs] = await make(t);
			const first = (await ours.append("k", "1", 0)) ?? assert.fail("rejected");
			assert.equal(await theirs.append("k", "2", 0), undefined);
			const other = (await theirs.append("k/ä.*", "other", 0)) ?? assert.fail("rejected");
			const { all, told } = await follow(theirs);
			const both = (text: string) => new Map(Object.entries({ k: text, "k/ä.*": "other" }));
			assert.deepEqual(new Map(all[0]), both("1"));
			const second = (await theirs.append("k", "2", first)) ?? assert.fail("rejected");
			assert.equal(await ours.append("k", "3", first), undefined);
			assert.deepEqual(await told.until((list) => list.length > 0), [["k", "2"]]);
			assert.ok(second > first, `revision ${second} after ${first}`);
			await ours.removeBefore("k", second);
			assert.deepEqual(new Map((await follow(ours)).all[0]), both("2"));
			await ours.removeBefore("k/ä.*", other + 1);
			assert.deepEqual((await follow(ours)).all, [[["k", "2"]]]);
			assert.notEqual(await ours.append("k/ä.*", "again", 0), undefined);
			assert.notEqual(await ours.append("k", "3", second), undefined);
		});

		test("lets one of many concurrent appends win", async (t) => {
			const both = await make(t);
			const appended = await Promise.all(both.flatMap((log) => [0, 1, 2].map(() => log.append("k", "x", 0))));
			assert.equal(appended.filter((revision) => revision !== undefined).length, 1);
		});
	});
}
