/** Gateway with scripted behavior, and firmware in XS that connects to it. */

import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import type { TestContext } from "node:test";
import { type WebSocket, WebSocketServer } from "ws";
import {
	type CheckedUplink,
	checkUplink,
	type StateReport,
	type Uplink,
	type UplinkOf,
	type UplinkType,
} from "../../device/protocol/messages.js";
import type { Model } from "../../device/protocol/schema.js";
import type { Exit } from "../../hosts/virtual/node/exit.js";
import { VirtualDevice, type VirtualDeviceOptions } from "../../hosts/virtual/node/virtual-device.js";
import { onEnd } from "./cleanup.js";
import { nextEvent, sourceOf, within } from "./eventually.js";
import { Inbox } from "./inbox.js";
import { portOf } from "./ports.js";

/** Connection of a device on the side of the gateway. */
export class Connection {
	readonly socket: WebSocket;
	readonly headers: IncomingHttpHeaders;
	readonly #closed: Promise<number>;
	readonly #uplinks = new Inbox<Uplink>();

	/** @param invalidUplinks receives the problem of each uplink that the gateway would drop */
	constructor(socket: WebSocket, headers: IncomingHttpHeaders, invalidUplinks: string[]) {
		this.socket = socket;
		this.headers = headers;
		this.#closed = new Promise((resolve) =>
			socket.on("close", (code) => {
				resolve(code);
				this.#uplinks.end(new Error("the connection ended before an expected uplink came"));
			}),
		);
		socket.on("message", (data, isBinary) => {
			const checked = isBinary ? { problem: "a binary frame" } : checkText(data.toString());
			if (checked.problem === undefined) return this.#uplinks.add(checked.uplink);
			invalidUplinks.push(checked.problem);
			this.#uplinks.end(new Error(`the gateway would drop an uplink: ${checked.problem}`));
		});
	}

	/** Close code, once the connection is closed; 1006 without a close frame. */
	get closed(): Promise<number> {
		return within(this.#closed, "the close of the device's connection");
	}

	send(message: unknown): void {
		this.socket.send(JSON.stringify(message));
	}

	/** Requests a state report and drops earlier ones. */
	query(): Promise<StateReport> {
		this.#uplinks.clear();
		this.send({ command: "query_state" });
		return this.next("state_report");
	}

	/** Next uplink of that type; skips others. @throws Error if there is none, or after an invalid one */
	next<T extends UplinkType>(type: T, predicate?: (uplink: UplinkOf<T>) => boolean): Promise<UplinkOf<T>> {
		const what = () => `a ${type}${predicate ? ` of ${sourceOf(predicate)}` : ""}`;
		return within(this.#next(type, predicate), what);
	}

	async #next<T extends UplinkType>(
		type: T,
		predicate: (uplink: UplinkOf<T>) => boolean = () => true,
	): Promise<UplinkOf<T>> {
		for (;;) {
			const uplink = await this.#uplinks.take();
			if (isOfType(uplink, type) && predicate(uplink)) return uplink;
		}
	}
}

/** Validates the exact text of an uplink like the gateway. */
function checkText(text: string): CheckedUplink {
	try {
		return checkUplink(JSON.parse(text));
	} catch {
		return { problem: `not JSON: ${text}` };
	}
}

function isOfType<T extends UplinkType>(uplink: Uplink, type: T): uplink is Uplink & UplinkOf<T> {
	return uplink.type === type;
}

export class ScriptedGateway {
	readonly server: WebSocketServer;
	/** Problems of invalid uplinks. A test that expects some removes them; any remaining one fails the test. */
	readonly invalidUplinks: string[] = [];
	readonly #connections = new Inbox<Connection>();

	constructor(t: TestContext, server: WebSocketServer) {
		this.server = server;
		server.on("connection", (socket, request) => {
			this.#connections.add(new Connection(socket, request.headers, this.invalidUplinks));
		});
		onEnd(t, () => assert.deepEqual(this.invalidUplinks, [], "the gateway would drop these uplinks"));
	}

	/** URL, for example `ws://127.0.0.1:40123/device`. */
	get url(): string {
		return `ws://127.0.0.1:${portOf(this.server)}/device`;
	}

	/** Next connection that was not returned yet. */
	connection(): Promise<Connection> {
		return within(this.#connections.take(), "a device's connection");
	}
}

export async function runScriptedGateway(t: TestContext): Promise<ScriptedGateway> {
	const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
	await nextEvent(server, "listening");
	onEnd(t, () => {
		for (const client of server.clients) client.terminate();
		server.close();
	});
	return new ScriptedGateway(t, server);
}

/** Powers a device on until the test ends, which fails if the device exited by itself. */
export async function powerOn(
	t: TestContext,
	gateway: { readonly url: string },
	model: Model = "DEV-1",
	options: Partial<VirtualDeviceOptions> = {},
): Promise<VirtualDevice> {
	const exits: Exit[] = [];
	onEnd(t, () => {
		if (exits.length > 0) throw new Error(`the device exited: ${JSON.stringify(exits)}`);
	});
	const device = await VirtualDevice.start({
		model,
		serial: "a1b2c3",
		settings: { gateway: gateway.url, token: "device-token-of-the-tests" },
		// Not thrown here: promises for the machine have to be rejected first.
		onExit: (exit) => exits.push(exit),
		...options,
	});
	onEnd(t, () => device.close());
	return device;
}
