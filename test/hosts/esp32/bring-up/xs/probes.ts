/** Probes of a board whose wiring is simulated in Node (../wiring.ts). */

import type { Probes } from "bring-up/requests";
import Channel from "virtual/channel";

export function createProbes(): Probes {
	const lines: string[] = [];
	const channel = new Channel("bring-up", {}, (_event, line) => lines.push(String(line)));
	const number = (name: string, ...values: readonly number[]) => Number(channel.call(name, values));
	return {
		revision: 2,
		partitions: () => {
			const found: [string, number, number][] = JSON.parse(String(channel.call("partitions", [])));
			return found.map(([name, offset, size]) => ({ name, offset, size }));
		},
		readLine: () => lines.shift(),
		probe: (data, clock, address) => number("probe", data, clock, address),
		readRegister: (data, clock, address, register) => number("register", data, clock, address, register),
		level: (pin) => number("level", pin),
		countEdges: (pin, ms) => number("edges", pin, ms),
		showPixels: (pixels) => channel.post("pixels", pixels),
		readAnalog: (pin) => number("analog", pin),
	};
}
