/**
 * Tries every change that a board allows or forbids for objects created during module loading, and reports the
 * results.
 */

import Channel from "virtual/channel";

class Counter {
	static open = 1;
	static #shut = 1;
	#own = 1;

	static bump() {
		Counter.#shut++;
		return Counter.#shut;
	}

	increment() {
		return ++this.#own;
	}
}

const map = new Map([["a", 1]]);
const set = new Set([1]);
const weakMap = new WeakMap<object, number>();
const weakSet = new WeakSet<object>();
const bytes = new Uint8Array([1, 2, 3]);
const buffer = new ArrayBuffer(4);
const date = new Date(5);
const plain: { a: number; b?: number; deep: { text: string } } = { a: 1, deep: { text: "text" } };
const list: unknown[] = [1, "two", { three: 3 }];
const frozen = Object.freeze({ a: "x", list: Object.freeze(["y"]) });
const big = 123_456_789_012_345_678_901_234_567_890n;
const instance = new Counter();
const error = new Error("made while loading");
let variable = 1;
export let exported = 1;

function named() {}

const attempts: Readonly<Record<string, () => unknown>> = {
	"Map.set": () => map.set("b", 2),
	"Map.delete": () => map.delete("a"),
	"Set.add": () => set.add(2),
	"Set.clear": () => set.clear(),
	"WeakMap.set": () => weakMap.set({}, 1),
	"WeakSet.add": () => weakSet.add({}),
	"typed array by index": () => {
		bytes[0] = 9;
	},
	"typed array by fill": () => bytes.fill(9),
	"ArrayBuffer by DataView": () => new DataView(buffer).setUint8(0, 1),
	"Date.setFullYear": () => date.setFullYear(2000),
	"error.message": () => {
		error.message = "changed";
	},
	"static field": () => {
		Counter.open = 2;
	},
	"private static field": () => Counter.bump(),
	"prototype of a built-in": () => {
		Array.prototype.at = () => 1;
	},
	"built-in object": () => {
		Math.abs = () => 1;
	},
	"global function": () => {
		globalThis.trace = () => {};
	},
	"property of a function": () => Object.defineProperty(named, "extra", { value: 1 }),
	"message of an Error without one": () => {
		new Error().message = "x";
	},
	"name of an Error": () => {
		new Error("x").name = "X";
	},
	"frozen object": () => Object.assign(frozen, { a: "z" }),
	"frozen array": () => Array.prototype.push.call(frozen.list, "z"),
	"JSON of a preloaded object": () => JSON.stringify(plain),

	"Map.get": () => map.get("a"),
	"message of an Error with one": () => {
		const fresh = new Error("x");
		fresh.message = "y";
		return fresh.message;
	},
	"JSON of a copy": () => JSON.stringify({ ...frozen, list: [...frozen.list] }),
	"let of a module": () => ++variable,
	"exported let": () => ++exported,
	"plain object": () => {
		plain.a = 5;
		plain.b = 6;
		plain.deep.text += "!";
		return `${plain.a} ${plain.b} ${plain.deep.text}`;
	},
	array: () => {
		list.push(4);
		list[0] = 7;
		return list.length + String(list[0]) + String(list[1]);
	},
	"private field of an instance": () => instance.increment(),
	"new global": () => {
		Object.assign(globalThis, { device: 4 });
		return Reflect.get(globalThis, "device");
	},
	bigint: () => String(big + 1n),
	"prototype of an own class": () => {
		Counter.prototype.increment = () => 9;
		return instance.increment();
	},
};

function result(attempt: () => unknown): unknown {
	try {
		return attempt();
	} catch (thrown) {
		return thrown instanceof TypeError ? "TypeError" : String(thrown);
	}
}

export default function main() {
	const channel = new Channel("rules", {}, () => {});
	for (const [name, attempt] of Object.entries(attempts)) {
		const value = result(attempt);
		channel.post(name, typeof value === "object" ? "object" : value);
	}
	channel.post("done");
}
