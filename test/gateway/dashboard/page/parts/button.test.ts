import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mount } from "../mount.js";

const { Button } = await import("../../../../../gateway/dashboard/page/parts/button.js");

const question = { title: "Delete it?", text: "Forever.", loss: { do: "Delete it", keep: "Keep it" } };

describe("button", () => {
	for (const [answer, count] of [
		["Delete it", 1],
		["Keep it", 0],
	] as const)
		test(`with a question acts ${count} times on “${answer}”`, async (t) => {
			const onClick = t.mock.fn();
			const page = await mount(t, Button, { question, onClick, children: "Delete" });
			await page.click("button", "Delete");
			assert.equal(onClick.mock.callCount(), 0);
			await page.within("dialog", "Delete it?").click("button", answer);
			assert.equal(onClick.mock.callCount(), count);
			assert.equal(page.has("dialog"), false);
		});

	test("ignores clicks while its action runs, and shows why it failed until it is repeated", async (t) => {
		const ends: ((error?: Error) => void)[] = [];
		const onClick = () =>
			new Promise<void>((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve())));
		const page = await mount(t, Button, { onClick, children: "Save" });
		await page.click("button", "Save");
		await page.click("button", "Save");
		assert.equal(ends.length, 1);
		ends[0]?.(new Error("Disk full."));
		await page.advance();
		assert.deepEqual(page.problems, ["Disk full."]);
		await page.click("button", "Save");
		assert.deepEqual([ends.length, page.problems], [2, []]);
	});

	for (const { role, action, isOff } of [
		{ role: "monitor", action: "restart", isOff: false },
		{ role: "user", action: "restart", isOff: true },
		{ role: "user", action: "set_volume", isOff: false },
		{ role: "viewer", action: "set_volume", isOff: true },
	] as const)
		test(`for ${action} is ${isOff ? "disabled, with the reason," : "enabled"} for the role ${role}`, async (t) => {
			const page = await mount(t, Button, { action, onClick: () => {}, children: "Do" }, { role });
			const button = page.find("button", "Do");
			assert.equal(button.matches(":disabled"), isOff);
			assert.equal(/not allowed/i.test(button.title), isOff);
		});
});
