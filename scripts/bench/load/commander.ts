/** A monitor that gives a device one command after the other and waits for what it reports. */

import { once } from "node:events";
import { WebSocket } from "ws";
import type { Target } from "./connect.js";

const reportMark = '"message":{"type":"state_report"';

export class Commander {
	readonly #socket: WebSocket;
	#onReport: (() => void) | undefined;

	private constructor(socket: WebSocket) {
		this.#socket = socket;
		socket.on("error", () => {});
		socket.on("message", (data) => {
			if (data.toString().includes(reportMark)) this.#onReport?.();
		});
	}

	static async connect({ url, token }: Target): Promise<Commander> {
		const socket = new WebSocket(url, {
			perMessageDeflate: false,
			...(token && { headers: { Authorization: `Bearer ${token}` } }),
		});
		await once(socket, "open");
		return new Commander(socket);
	}

	/** The next state report of any device. @throws Error where none comes in time */
	report(timeoutMs: number): Promise<void> {
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error("no state report came")), timeoutMs);
			this.#onReport = () => {
				clearTimeout(timer);
				resolve();
			};
		});
	}

	/** @returns microseconds from the command to the report that answers it */
	async roundTrip(targetId: string, payload: object, timeoutMs: number): Promise<number> {
		const began = performance.now();
		const reported = this.report(timeoutMs);
		this.#socket.send(JSON.stringify({ type: "control_device", targetId, payload }));
		await reported;
		return (performance.now() - began) * 1000;
	}

	close(): void {
		this.#socket.terminate();
	}
}
