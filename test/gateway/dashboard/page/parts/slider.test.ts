import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { mount, passed } from "../mount.js";

const { Slider } = await import("../../../../../gateway/dashboard/page/parts/slider.js");

describe("slider", () => {
	test("sends its value to the handler of the latest render", async (t) => {
		const calls: string[] = [];
		const props = (name: string) => ({
			label: "Volume",
			value: 50,
			onChange: (value: number) => calls.push(`${name}: ${value}`),
		});
		const page = await mount(t, Slider, props("first"));
		await page.render(Slider, props("second"));
		await page.enter("Volume", 30);
		assert.deepEqual(calls, ["second: 30"]);
		assert.equal(page.field("Volume").value, "50", "the reported value again");
	});

	async function setUp(t: TestContext) {
		const sent: number[] = [];
		const onChange = (value: number) => void sent.push(value);
		const page = await mount(t, Slider, { label: "Volume", value: 50, onChange });
		const field = page.field("Volume");
		const move = async (value: number, forMs: number) => {
			field.value = `${value}`;
			field.dispatchEvent(new Event("input", passed));
			await page.advance(forMs);
		};
		return { page, field, sent, move };
	}

	test("sends five values a second while it is dragged, and the last one", async (t) => {
		const { page, field, sent, move } = await setUp(t);
		field.dispatchEvent(new PointerEvent("pointerdown", { ...passed, pointerType: "mouse" }));
		for (let value = 49; value >= 0; value -= 1) await move(value, 20);
		assert.ok(sent.length >= 5 && sent.length <= 6, `${sent} in a second`);
		await page.advance(200);
		assert.equal(sent.at(-1), 0);
		assert.equal(field.value, "0", "no report moves it under the pointer");
		field.dispatchEvent(new PointerEvent("pointerup", passed));
		await page.advance();
		assert.equal(field.value, "50");
	});

	test("sends the result of several key presses once", async (t) => {
		const { page, sent, move } = await setUp(t);
		for (let value = 51; value <= 55; value += 1) {
			await page.press("slider", "Volume", "ArrowRight");
			await move(value, 300);
		}
		assert.deepEqual(sent, []);
		await page.advance(200);
		assert.deepEqual(sent, [55]);
	});

	test("sends its last value when it is removed", async (t) => {
		const { page, sent, move } = await setUp(t);
		await page.press("slider", "Volume", "ArrowRight");
		await move(51, 10);
		await page.leave();
		assert.deepEqual(sent, [51]);
	});
});
