import assert from "node:assert/strict";
import { test } from "node:test";
import { mount } from "../mount.js";

const { Slider } = await import("../../../../../gateway/dashboard/page/parts/slider.js");

test("a slider sends its value to the handler of the latest render", async (t) => {
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
