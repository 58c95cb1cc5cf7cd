/** A gateway that does what a test says, right or wrong, and firmware in XS that talks to it. */

import { once } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import type { TestContext } from "node:test";
import { type WebSocket, WebSocketServer } from "ws";
import {
	checkUplink,
	type StateReport,
	type Uplink,
	type UplinkOf,
	type UplinkType,
} from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import type { Exit } from "../../hosts/virtual/node/machine.js";
import { VirtualDevice, type VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { onEnd } from "../cleanup.js";

/** A device's connection, as its gateway sees it. */
export class Connection {
	readonly socket: WebSocket;
	readonly headers: IncomingHttpHeaders;
	/** The close code, once the connection is closed; 1006 without a close frame. */
	readonly closed: Promise<number>;
	readonly #uplinks: Uplink[] = [];
	#arrived = () => {};

	constructor(socket: WebSocket, headers: IncomingHttpHeaders) {
		this.socket = socket;
		this.headers = headers;
		this.closed = new Promise((resolve) =>
			socket.on("close", (code) => {
				resolve(code);
				this.#arrived();
			}),
		);
		socket.on("message", (data) => {
			const checked = checkUplink(JSON.parse(data.toString()));
			if (checked.problem !== undefined) throw new Error(checked.problem);
			this.#uplinks.push(checked.uplink);
			this.#arrived();
		});
	}

	send(message: unknown): void {
		this.socket.send(JSON.stringify(message));
	}

	/** Asks for a state report; those that came before are forgotten. */
	query(): Promise<StateReport> {
		this.#uplinks.length = 0;
		this.send({ command: "query_state" });
		return this.next("state_report");
	}

	/** The next uplink of that type; those before it are skipped. @throws Error where the connection ends before */
	async next<T extends UplinkType>(
		type: T,
		isMeant: (uplink: UplinkOf<T>) => boolean = () => true,
	): Promise<UplinkOf<T>> {
		for (;;) {
			for (;;) {
				const uplink = this.#uplinks.shift();
				if (!uplink) break;
				if (isOfType(uplink, type) && isMeant(uplink)) return uplink;
			}
			if (this.socket.readyState === this.socket.CLOSED)
				throw new Error(`the connection ended before a ${type} came`);
			await new Promise<void>((resolve) => {
				this.#arrived = resolve;
			});
		}
	}
}

function isOfType<T extends UplinkType>(uplink: Uplink, type: T): uplink is Uplink & UplinkOf<T> {
	return uplink.type === type;
}

export class ScriptedGateway {
	readonly server: WebSocketServer;
	readonly #connections: Connection[] = [];
	#arrived = () => {};

	constructor(server: WebSocketServer) {
		this.server = server;
		server.on("connection", (socket, request) => {
			this.#connections.push(new Connection(socket, request.headers));
			this.#arrived();
		});
	}

	/** Such as `ws://127.0.0.1:40123/device`. */
	get url(): string {
		const address = this.server.address();
		if (typeof address !== "object" || !address) throw new Error("the gateway does not listen");
		return `ws://127.0.0.1:${address.port}/device`;
	}

	/** The next connection that has not been asked for yet. */
	async connection(): Promise<Connection> {
		for (;;) {
			const connection = this.#connections.shift();
			if (connection) return connection;
			await new Promise<void>((resolve) => {
				this.#arrived = resolve;
			});
		}
	}
}

export async function runScriptedGateway(t: TestContext): Promise<ScriptedGateway> {
	const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
	await once(server, "listening");
	onEnd(t, () => {
		for (const client of server.clients) client.terminate();
		server.close();
	});
	return new ScriptedGateway(server);
}

/** Powers a device on; it is switched off when the test ends, which fails where the device ended by itself. */
export async function powerOn(
	t: TestContext,
	gateway: { readonly url: string },
	model: Model = "DEV-1",
	options: Partial<VirtualDeviceOptions> = {},
): Promise<VirtualDevice> {
	const exits: Exit[] = [];
	onEnd(t, () => {
		if (exits.length > 0) throw new Error(`the device ended: ${JSON.stringify(exits)}`);
	});
	const device = await VirtualDevice.start({
		model,
		serial: "a1b2c3",
		config: { gateway: gateway.url, token: "device-token-of-the-tests" },
		// Not thrown from here: whoever waits for the machine has to be told first.
		onExit: (exit) => exits.push(exit),
		...options,
	});
	onEnd(t, () => device.close());
	return device;
}
