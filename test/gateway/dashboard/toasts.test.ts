import assert from "node:assert/strict";
import { test } from "node:test";
import { Toasts } from "../../../gateway/dashboard/page/app/toasts.js";

test("shows a toast for 4 s, replaced by a newer one of the same kind and target", (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	let changes = 0;
	const toasts = new Toasts(() => {
		changes += 1;
	});
	const texts = () => toasts.all.map(([, { text }]) => text);
	toasts.show("volume kitchen", "Kitchen: Volume 40");
	toasts.show("volume hall", "Hall: Volume 5");
	t.mock.timers.tick(3_000);
	toasts.show("volume kitchen", "Kitchen: Volume 41");
	assert.deepEqual(texts(), ["Hall: Volume 5", "Kitchen: Volume 41"]);
	t.mock.timers.tick(1_000);
	assert.deepEqual(texts(), ["Kitchen: Volume 41"], "newer toast hidden too early");
	t.mock.timers.tick(3_000);
	assert.deepEqual(texts(), []);
	assert.equal(changes, 5);
});

test("shows an action that can be undone for 6 s, even in another view, and undoes the latest", (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const toasts = new Toasts(() => {});
	const undone: string[] = [];
	for (const key of ["volume", "room"]) toasts.show(key, key, () => undone.push(key));
	toasts.show("identify", "Kitchen: Identify");
	toasts.clear();
	assert.equal(toasts.all.length, 2);
	assert.deepEqual([toasts.undo(), toasts.all.length, undone], [true, 1, ["room"]]);
	t.mock.timers.tick(5_999);
	assert.equal(toasts.all.length, 1);
	t.mock.timers.tick(1);
	assert.deepEqual([toasts.undo(), undone], [false, ["room"]]);
});
