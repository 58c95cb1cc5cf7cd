/** Runs the device's parsers in XS with a board's heap (test/hosts/virtual/xs/parsers.ts), one frame at a time. */

import type { TestContext } from "node:test";
import type { Model } from "../../../device/protocol/schema.js";
import { textFrame } from "../../../gateway/sockets/text-frame.js";
import { buildMachine, buildProgram } from "../../../hosts/virtual/node/build.js";
import type { Channel } from "../../../hosts/virtual/node/channel.js";
import { Machine } from "../../../hosts/virtual/node/machine.js";
import { onEnd } from "../../support/cleanup.js";
import { messagesIn } from "../network/client-frames.js";

/** Reaction of a device to a frame. */
export interface Heard {
	/** Commands that it would execute. */
	readonly did: unknown[];
	/** Size of each message that it sent, in bytes. */
	readonly said: Buffer[];
	/** Reason why it closed the connection; undefined: it did not. */
	closed: string | undefined;
}

const main = "test/hosts/virtual/xs/parsers";
const modules = [
	main,
	"device/attempt",
	"device/commands",
	"device/component",
	"device/network/json-limits",
	"device/network/connection-end",
	"device/network/gateway-socket",
	"device/network/http-fields",
	"device/network/response-head",
	"device/network/stream",
	"device/network/web-socket-frames",
	"device/protocol/messages",
	"device/protocol/models",
	"device/protocol/schema",
];

/**
 * Texts per machine. XS keeps every name it has read in JSON: a board reads a handful, these tests several in each
 * text.
 */
const textsPerMachine = 100;
const keys = 1000;

export async function startXsParsers(t: TestContext) {
	const executable = await buildMachine();
	const sources = Object.fromEntries(modules.map((name) => [name, `${name}.ts`]));
	const { bytes: program } = await buildProgram({ main, modules: sources });
	let machine: Machine | undefined;
	let channel: Channel | undefined;
	let count = 0;
	let heard: Heard = { did: [], said: [], closed: undefined };
	let answer: (detail: unknown) => void = () => {};
	onEnd(t, () => machine?.close());

	const onPost = (what: string, detail: unknown, payload: Buffer) => {
		if (what === "did") heard.did.push(detail);
		// The other bytes are the request, which is text.
		if (what === "wrote" && payload.readInt8(0) < 0) heard.said.push(...messagesIn(payload));
		if (what === "closed") heard.closed = String(detail);
		if (what === "answer") answer(detail);
	};
	const start = async () => {
		await machine?.close();
		const onOpen = (opened: Channel) => {
			channel = opened;
			return { onPost };
		};
		// A new machine parses the next text.
		const onExit = () => {
			count = 0;
		};
		machine = new Machine({ executable, program, limits: { keys }, onOpen, onExit });
		await machine.ready;
		return machine;
	};
	const ask = async (name: string, detail: unknown, payload?: Uint8Array): Promise<unknown> => {
		if (count % textsPerMachine === 0) machine = await start();
		count += 1;
		heard = { did: [], said: [], closed: undefined };
		const answered = new Promise((resolve) => {
			answer = resolve;
		});
		channel?.send(name, detail, payload);
		const ended = machine?.exited.then((exit) => {
			throw new Error(`device exited: ${JSON.stringify(exit)}`);
		});
		return Promise.race([answered, ended]);
	};
	return {
		/** Receives a text frame in chunks of `pieceBytes`. */
		async hear(model: Model, text: string, pieceBytes = 1440): Promise<Heard> {
			await ask(model, pieceBytes, textFrame(text));
			return heard;
		},
	};
}
