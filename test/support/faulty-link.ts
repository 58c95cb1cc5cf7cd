/**
 * Network link of clients to a server on 127.0.0.1: a TCP proxy with faults. TCP itself loses nothing: after a drop
 * all bytes up to the end of the connection are dropped.
 */

import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { type Owner, onEnd } from "./cleanup.js";
import { portOf } from "./ports.js";

/**
 * "stalled": nothing passes until the fault ends. "upstream lost": nothing reaches the server. "downstream lost":
 * nothing reaches the client. "torn": half of the next bytes pass, then the connection ends. "slow": a few bytes at a
 * time.
 */
export type LinkFault = "stalled" | "upstream lost" | "downstream lost" | "torn" | "slow";

const sliceBytes = 61;

export class FaultyLink {
	/** Changes what the server sends, chunk by chunk. */
	rewrite: ((chunk: Buffer) => Buffer) | undefined;
	readonly #server: Server;
	/** Port of the server; undefined: connections are rejected. */
	#target: number | undefined;
	readonly #sockets = new Set<Socket>();
	#fault: LinkFault | undefined;
	/** Writes that wait for the end of a stall. */
	#waiting: (() => void)[] = [];

	private constructor(server: Server) {
		this.#server = server;
		server.on("connection", (socket) => this.#onConnection(socket));
	}

	static async open(): Promise<FaultyLink> {
		const server = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
		await once(server, "listening");
		return new FaultyLink(server);
	}

	/** Opens a link to a port that is closed when the test ends. */
	static async to(t: Owner, port: number): Promise<FaultyLink> {
		const link = await FaultyLink.open();
		onEnd(t, () => link.close());
		link.route(port);
		return link;
	}

	get port(): number {
		return portOf(this.#server);
	}

	set fault(fault: LinkFault | undefined) {
		// Existing connections lack bytes and must end.
		if (this.#fault === "upstream lost" || this.#fault === "downstream lost") this.cut();
		this.#fault = fault;
		for (const resume of this.#waiting.splice(0)) resume();
	}

	/** Ends every connection; new ones lead to this port, or are rejected if it is undefined. */
	route(port: number | undefined): void {
		this.#target = port;
		this.cut();
	}

	/** Ends every connection at once. Node spins at its exit if `resetAndDestroy` meets a pending `end`. */
	cut(): void {
		for (const socket of this.#sockets) socket.destroy();
	}

	close(): void {
		this.cut();
		this.#server.close();
	}

	#onConnection(client: Socket): void {
		if (this.#target === undefined) return void client.destroy();
		const server = connect({ port: this.#target, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
		client.setNoDelay(true);
		for (const [from, to, lost] of [
			[client, server, "upstream lost"],
			[server, client, "downstream lost"],
		] as const) {
			this.#sockets.add(from);
			from.on("error", () => {});
			from.on("close", () => {
				this.#sockets.delete(from);
				to.destroy();
			});
			void this.#pass(from, to, lost);
		}
	}

	async #pass(from: Socket, to: Socket, lost: LinkFault): Promise<void> {
		try {
			const chunks = from.iterator({ destroyOnReturn: false });
			const rewrite = lost === "downstream lost" ? this.rewrite : undefined;
			for await (const chunk of chunks) await this.#passOn(rewrite?.(chunk) ?? chunk, from, to, lost);
			while (this.#fault === "stalled") await this.#change();
			to.end();
		} catch {
			// The connection ended.
		}
	}

	async #passOn(chunk: Buffer, from: Socket, to: Socket, lost: LinkFault): Promise<void> {
		while (this.#fault === "stalled") await this.#change();
		if (this.#fault === lost) return;
		if (this.#fault === "torn") {
			to.write(chunk.subarray(0, chunk.length >> 1), () => {
				from.destroy();
				to.destroy();
			});
		} else if (this.#fault === "slow" && chunk.length > sliceBytes) {
			for (let at = 0; at < chunk.length; at += sliceBytes) {
				to.write(chunk.subarray(at, at + sliceBytes));
				await new Promise((resolve) => setImmediate(resolve));
			}
		} else if (!to.write(chunk)) await once(to, "drain");
	}

	#change(): Promise<void> {
		return new Promise((resolve) => this.#waiting.push(resolve));
	}
}
