/**
 * Bring-up program. Answers requests from a computer on the serial port through the firmware's drivers and by measuring any pin.
 * Requires no settings.
 */

import { createHandlers, type Handlers } from "bring-up/handlers";
import { createProbes } from "bring-up/probes";
import { answerMark, type RequestName, requests } from "bring-up/requests";
import { messageOf } from "message-of";
import { describeProblem, findProblem, isRecord, matches } from "protocol/schema";
import Timer from "timer";
import type { Host } from "../../../device/host.js";

/** Less than the 5.6 ms in which 64 bytes, the size of the USB FIFO, arrive at 115,200 baud. */
const pollMs = 5;

declare const device: Host;

export default function main(): void {
	const probes = createProbes();
	const system = new device.system({});
	const handlers = createHandlers({ device, system, probes });
	const print = (answer: object) => system.print(`${answerMark}${JSON.stringify(answer)}\n`);
	Timer.repeat(() => {
		for (let line = probes.readLine(); line !== undefined; line = probes.readLine())
			void receive(line, handlers, print);
	}, pollMs);
}

async function receive(line: string, handlers: Handlers, print: (answer: object) => void): Promise<void> {
	let id: unknown;
	try {
		const message: unknown = JSON.parse(line);
		if (!isRecord(message)) throw new Error("A request must be an object with id, request and ask.");
		id = message.id;
		print({ id, answer: await answerTo(message.request, message.ask, handlers) });
	} catch (error) {
		print({ id, error: messageOf(error) });
	}
}

/** @throws Error if the request is unknown or invalid */
function answerTo(request: unknown, ask: unknown, handlers: Handlers): object | Promise<object> {
	const name = Object.keys(requests).find((known): known is RequestName => known === request);
	if (name === undefined) throw new Error(`Unknown request "${String(request)}".`);
	return execute(name, ask, handlers);
}

function execute<N extends RequestName>(name: N, ask: unknown, handlers: Handlers): object | Promise<object> {
	const schema: (typeof requests)[N]["ask"] = requests[name].ask;
	if (!matches(schema, ask)) throw new Error(`${name}: ${describeProblem(findProblem(schema, ask))}`);
	return handlers[name](ask);
}
