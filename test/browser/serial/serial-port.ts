/** Replaces `navigator.serial` in pages by one whose only port is a simulated board. */

import type { BrowserContext } from "playwright-core";
import type { UsbBoard } from "./usb-board.js";

/** Runs in the page before its scripts. A loader responds to writes; firmware also sends by itself. */
const script = `(() => {
	const call = window.serialCall;
	class Port extends EventTarget {
		readable = null;
		writable = null;
		#source;
		#info;
		constructor(info) {
			super();
			this.#info = info;
		}
		getInfo() {
			return this.#info;
		}
		async open({ baudRate }) {
			const problem = await call("open", baudRate);
			if (problem) throw new DOMException(problem, "NetworkError");
			this.readable = new ReadableStream({ start: (source) => { this.#source = source; } });
			this.writable = new WritableStream({ write: (chunk) => this.#write(chunk) });
			void this.#hear(this.readable);
		}
		async #hear(readable) {
			for (let bytes = await call("read"); bytes && this.readable === readable; bytes = await call("read"))
				try {
					this.#source.enqueue(Uint8Array.from(bytes));
				} catch {
					// The reader is gone; the port is closed next.
				}
		}
		async close() {
			this.readable = this.writable = null;
			await call("close");
		}
		async setSignals({ dataTerminalReady: dtr, requestToSend: rts }) {
			await call("lines", { ...(dtr !== undefined && { dtr }), ...(rts !== undefined && { rts }) });
		}
		async #write(chunk) {
			const { reply, isLost } = await call("write", [...chunk]);
			if (isLost) return this.#lose();
			if (reply.length > 0) this.#source.enqueue(Uint8Array.from(reply));
		}
		#lose() {
			const error = new DOMException("The device has been lost.", "NetworkError");
			this.#source.error(error);
			this.readable = this.writable = null;
			this.dispatchEvent(new Event("disconnect"));
			throw error;
		}
	}
	let port;
	const requestPort = async () => {
		if (!navigator.userActivation.isActive) throw new DOMException("Must be handling a user gesture.", "SecurityError");
		const info = await call("choose");
		if (!info) throw new DOMException("No port selected by the user.", "NotFoundError");
		port ??= new Port(info);
		return port;
	};
	Object.defineProperty(navigator, "serial", { value: { requestPort }, configurable: true });
})()`;

/** @param chosen board whose port the user selects; undefined: none */
export function withSerialPort(chosen: () => UsbBoard | undefined) {
	return async (context: BrowserContext): Promise<void> => {
		await context.exposeFunction("serialCall", async (name: string, value: unknown) => {
			const board = chosen();
			if (name === "choose") return board?.usbIds;
			if (name === "open" && typeof value === "number") return board?.open(value);
			if (name === "read") return board?.read();
			if (name === "close") return board?.closePort();
			if (name === "write" && Array.isArray(value)) return board?.write(Uint8Array.from(value));
			if (name === "lines" && typeof value === "object" && value !== null) return board?.setLines(value);
			throw new Error(`the port cannot ${name}`);
		});
		await context.addInitScript(script);
	};
}

/** Removes Web Serial, as in Firefox and on plain HTTP. */
export function withoutSerialPort(isSecure: boolean) {
	return async (context: BrowserContext): Promise<void> => {
		await context.addInitScript(`
			Object.defineProperty(navigator, "serial", { value: undefined });
			Object.defineProperty(window, "isSecureContext", { value: ${isSecure} });
		`);
	};
}
