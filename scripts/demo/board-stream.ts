/** Streams board events of a virtual device to pages as server-sent events. */

import type { ServerResponse } from "node:http";
import { buttonNames } from "../../device/host.js";
import type { Board } from "../../hosts/virtual/node/board.js";
import type { BoardState } from "./messages.js";

/** The gateway closes connections without traffic after 30 s. */
const keepAliveMs = 10_000;

export class BoardStream {
	readonly #board: Board;
	readonly #pages = new Set<ServerResponse>();
	readonly #timer: NodeJS.Timeout;
	readonly #unlisten: () => void;

	constructor(board: Board) {
		this.#board = board;
		const sendInputs = () => this.send({ inputs: inputsOf(board) });
		this.#unlisten = board.listen({
			onInput: sendInputs,
			onAccessPoints: sendInputs,
			onFrame: () => this.send({ ring: ringOf(board) }),
			onGain: (gain) => this.send({ gain }),
			onQueued: (samples) => this.send({ sound: Buffer.from(samples).toString("base64") }),
			onSound: (sound) => {
				this.send({ sound: null });
				if (sound) this.send({ sound: Buffer.from(sound.samples).toString("base64") });
			},
		});
		this.#timer = setInterval(() => {
			for (const page of this.#pages) page.write(":\n\n");
		}, keepAliveMs);
	}

	/** Adds a page. Buttons and touch pad are released when a page leaves, as it may have held them. */
	add(page: ServerResponse, next: string): void {
		if (page.destroyed) return;
		page.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
		const { gain } = this.#board;
		page.write(eventOf({ inputs: inputsOf(this.#board), ring: ringOf(this.#board), gain, next }));
		this.#pages.add(page);
		page.once("close", () => {
			this.#pages.delete(page);
			this.#release();
		});
	}

	send(changes: Partial<BoardState>): void {
		for (const page of this.#pages) page.write(eventOf(changes));
	}

	close(): void {
		clearInterval(this.#timer);
		this.#unlisten();
		for (const page of this.#pages) page.end();
	}

	#release(): void {
		for (const name of buttonNames) if (this.#board.isPressed(name)) this.#board.setButton(name, false);
		if (this.#board.isTouched) this.#board.isTouched = false;
	}
}

function eventOf(changes: Partial<BoardState>): string {
	return `data: ${JSON.stringify(changes)}\n\n`;
}

function ringOf({ pixels }: Board): string {
	return Buffer.from(pixels).toString("hex");
}

function inputsOf(board: Board): BoardState["inputs"] {
	return {
		pressed: buttonNames.filter((name) => board.isPressed(name)),
		light: board.light ?? 0,
		isTouched: board.isTouched,
		rssi: board.accessPoints[0]?.rssi ?? null,
	};
}
