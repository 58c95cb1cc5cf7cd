/** Ends in the configured way. */

import config from "mc/config";
import Timer from "timer";
import Channel from "virtual/channel";

function fail(): never {
	throw new Error("on request");
}

const ways: Readonly<Record<string, () => unknown>> = {
	"exception in main": fail,
	"exception in a timer": () => Timer.set(fail, 1),
	"exception in an event": () => new Channel("poke", {}, fail),
	"exception in a promise": () => Promise.resolve().then(fail),
	"rejection in an async function": async () => {
		await undefined;
		fail();
	},
	"rejection that is handled in time": () => {
		Promise.reject(new Error("handled")).catch(() => natives.exit("quit"));
	},
	"chunk memory": () => {
		const kept: string[] = [];
		for (;;) kept.push("x".repeat(1000 + kept.length));
	},
	"one large chunk": () => new ArrayBuffer(150_000),
	slots: () => {
		let kept: object | undefined;
		for (;;) kept = { kept };
	},
	stack: () => {
		const deeper = (depth: number): number => 1 + deeper(depth + 1);
		return deeper(0);
	},
	keys: () => {
		const kept: Record<string, number> = {};
		for (let i = 0; ; i++) kept[`key${i}`] = i;
	},
	"endless loop": () => {
		for (;;) Date.now();
	},
	"endless chain of promises": () => {
		const again = () => {
			Promise.resolve().then(again);
		};
		again();
	},
	"endless built-in": () => {
		/* Not returned: XS would reuse the frame for such a call, and its line with it. */
		Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);
	},
	delay: () => Timer.delay(60_000),
	restart: () => natives.exit("restart"),
	quit: () => natives.exit("quit"),
};

export default function main() {
	ways[config.way ?? ""]?.();
}
