/** Streams board events of a virtual device to pages as server-sent events. */

import type { ServerResponse } from "node:http";
import { buttonNames } from "../../device/host.js";
import type { Board } from "../../hosts/virtual/node/board.js";
import type { BoardEvents } from "./messages.js";

/** The gateway closes connections without traffic after 30 s. */
const keepAliveMs = 10_000;

export class BoardStream {
	readonly #board: Board;
	readonly #pages = new Set<ServerResponse>();
	readonly #timer: NodeJS.Timeout;
	readonly #unlisten: () => void;

	constructor(board: Board) {
		this.#board = board;
		const sendInputs = () => this.send("inputs", inputsOf(board));
		this.#unlisten = board.listen({
			onInput: sendInputs,
			onAccessPoints: sendInputs,
			onFrame: () => this.send("ring", Buffer.from(board.pixels).toString("hex")),
			onGain: (gain) => this.send("gain", gain),
			onQueued: (samples) => this.send("more", Buffer.from(samples).toString("base64")),
			onSound: (sound) =>
				this.send(
					"sound",
					sound
						? { samples: Buffer.from(sound.samples).toString("base64"), sampleRate: sound.sampleRate }
						: null,
				),
		});
		this.#timer = setInterval(() => {
			for (const page of this.#pages) page.write(":\n\n");
		}, keepAliveMs);
	}

	/** Adds a page. Buttons and touch pad are released when a page leaves, as it may have held them. */
	add(page: ServerResponse, next: string): void {
		if (page.destroyed) return;
		page.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
		page.write(frame("inputs", inputsOf(this.#board)));
		page.write(frame("ring", Buffer.from(this.#board.pixels).toString("hex")));
		page.write(frame("gain", this.#board.gain));
		page.write(frame("next", next));
		this.#pages.add(page);
		page.once("close", () => {
			this.#pages.delete(page);
			this.#release();
		});
	}

	send<Name extends keyof BoardEvents>(name: Name, data: BoardEvents[Name]): void {
		for (const page of this.#pages) page.write(frame(name, data));
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

function frame<Name extends keyof BoardEvents>(name: Name, data: BoardEvents[Name]): string {
	return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

function inputsOf(board: Board): BoardEvents["inputs"] {
	return {
		pressed: buttonNames.filter((name) => board.isPressed(name)),
		light: board.light ?? 0,
		isTouched: board.isTouched,
		rssi: board.accessPoints[0]?.rssi ?? null,
	};
}
