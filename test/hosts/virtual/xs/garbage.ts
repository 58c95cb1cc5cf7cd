/** Creates much garbage beside values of every type in ROM and their aliases, and checks that they are unchanged. */

import Timer from "timer";
import Channel from "virtual/channel";

class Counter {
	#count = 0;

	add() {
		return ++this.#count;
	}
}

const texts = ["one", "two", "three"];
const big = 2n ** 200n;
const map = new Map<unknown, unknown>([
	["text", { deep: ["x".repeat(100)] }],
	[7, new Uint8Array([1, 2, 3])],
]);
let counter: Counter;
const tree: { name: string; children: { name: string; text: string }[] } = { name: "root", children: [] };
const key = Symbol("key");
const template = (value: string) => `<${value}>`;
let total = 0;
let names: string[] = [];

function round(index: number): void {
	if (index === 0) names = [...Object.keys(tree), String(key.description), template.name, Counter.name];
	const text = `round ${index} `.repeat(1 + (index % 40));
	tree.children[index % 8] = { name: `child ${index}`, text };
	texts[3 + (index % 5)] = text.toUpperCase();
	const garbage = { [key]: [...texts], big: big + BigInt(index), bytes: new Uint8Array(index % 700), map };
	total += JSON.stringify([...garbage[key]]).length > 0 ? counter.add() - index : 0;
	if (garbage.big - BigInt(index) !== 2n ** 200n) throw new Error("bigint");
}

function check(rounds: number): void {
	const seen = [
		texts.slice(0, 3).join() === "one,two,three",
		texts.length === 8,
		total === rounds,
		counter.add() === rounds + 1,
		tree.children.length === 8 &&
			tree.children.every(({ name, text }) => text.startsWith(name.replace("child", "round"))),
		JSON.stringify([...map.keys()]) === '["text",7]',
		String(map.get(7)) === "1,2,3",
		template("a") === "<a>",
		String(key) === "Symbol(key)",
		names.join() === "name,children,key,template,Counter",
	];
	trace(seen.every(Boolean) ? "intact" : seen.join());
}

export default function main() {
	const channel = new Channel("kept", { text: "kept" }, () => {});
	counter = new Counter();
	let index = 0;
	const timer = Timer.repeat(() => {
		for (let i = 0; i < 20; i++) round(index++);
		if (index < 2000) return;
		Timer.clear(timer);
		channel.close();
		Promise.resolve().then(() => check(index));
	}, 10);
}
