/** Tries changes of objects created during module loading, and reports the results of those that boards allow together. */

import Channel from "virtual/channel";

class Counter {
	static #shut = 1;
	#own = 1;

	static bump() {
		return Counter.#shut++;
	}

	increment() {
		return ++this.#own;
	}
}

const map = new Map([["a", 1]]);
const bytes = new Uint8Array([1, 2, 3]);
const date = new Date(5);
const plain: { a: number; b?: number; deep: { text: string } } = { a: 1, deep: { text: "text" } };
const frozen = Object.freeze({ a: "x", list: Object.freeze(["y"]) });
const instance = new Counter();
let variable = 1;

function named() {}

const rejected: Readonly<Record<string, () => unknown>> = {
	"Map.set": () => map.set("b", 2),
	"typed array": () => bytes.fill(9),
	"Date.setFullYear": () => date.setFullYear(2000),
	"private static field": () => Counter.bump(),
	"private field of an instance": () => instance.increment(),
	"prototype of a built-in": () => Object.assign(Array.prototype, { at: () => 1 }),
	"property of a function": () => Object.defineProperty(named, "extra", { value: 1 }),
	"message of an Error without one": () => Object.assign(new Error(), { message: "x" }),
	"JSON of a preloaded object": () => JSON.stringify(plain),
};

const allowed: Readonly<Record<string, () => unknown>> = {
	"message of an Error with one": () => {
		const fresh = new Error("x");
		fresh.message = "y";
		return fresh.message;
	},
	"JSON of a copy": () => JSON.stringify({ ...frozen, list: [...frozen.list] }),
	"let of a module": () => ++variable,
	"plain object": () => {
		plain.a = 5;
		plain.b = 6;
		plain.deep.text += "!";
		return `${plain.a} ${plain.b} ${plain.deep.text}`;
	},
	"new global": () => {
		Object.assign(globalThis, { device: 4 });
		return Reflect.get(globalThis, "device");
	},
	"prototype of an own class": () => {
		Counter.prototype.increment = () => 9;
		return instance.increment();
	},
};

function result(attempt: () => unknown): unknown {
	try {
		return attempt() && "none";
	} catch (thrown) {
		return thrown instanceof TypeError ? "TypeError" : String(thrown);
	}
}

export default function main() {
	const channel = new Channel("rules", {}, () => {});
	for (const [name, attempt] of Object.entries(rejected)) channel.post(name, result(attempt));
	const values: Record<string, unknown> = {};
	for (const [name, attempt] of Object.entries(allowed)) values[name] = attempt();
	channel.post("allowed", values);
}
