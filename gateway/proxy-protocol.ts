/**
 * The PROXY protocol, version 2: a balancer says before all other bytes whose connection it passes on. So limits, logs
 * and records count clients and not the balancer. https://www.haproxy.org/download/2.6/doc/proxy-protocol.txt, 2.2
 */

import type { Server } from "node:http";
import { type Socket, SocketAddress } from "node:net";

const signature = Buffer.from("0d0a0d0a000d0a515549540a", "hex");
/** Signature, version and command, family, length of the rest. */
const headBytes = 16;
/** With all extensions (TLVs), which are skipped: a proxy sends some hundred bytes. */
const longestBytes = 4096;

export interface Source {
	readonly address: string;
	readonly port: number;
}

export interface ProxyHeader {
	readonly byteCount: number;
	/** Undefined: the proxy's own connection, such as a health check, or that of a Unix socket. */
	readonly source: Source | undefined;
}

/** @returns undefined if more bytes are needed @throws {Error} if it is no such header; the message says why */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | undefined {
	const begun = Math.min(bytes.length, signature.length);
	if (bytes.compare(signature, 0, begun, 0, begun) !== 0)
		throw new Error("it does not begin with a header of the PROXY protocol, version 2");
	if (bytes.length < headBytes) return undefined;
	const command = bytes.readUInt8(12);
	if (command !== 0x20 && command !== 0x21)
		throw new Error(`its version and command are 0x${command.toString(16)}, not 0x20 or 0x21`);
	const byteCount = headBytes + bytes.readUInt16BE(14);
	if (byteCount > longestBytes)
		throw new Error(`its header has ${byteCount} bytes, more than ${longestBytes}`);
	if (bytes.length < byteCount) return undefined;
	if (command === 0x20) return { byteCount, source: undefined };
	return { byteCount, source: sourceOf(bytes.readUInt8(13), bytes.subarray(headBytes, byteCount)) };
}

/** @param addresses source and destination, then their ports, then extensions */
function sourceOf(family: number, addresses: Buffer): Source | undefined {
	switch (family) {
		case 0x11:
			return readSource(addresses, 4);
		case 0x21:
			return readSource(addresses, 16);
		// Unspecified, and a Unix socket: the receiver uses the connection's own address.
		case 0x00:
		case 0x31:
			return undefined;
	}
	throw new Error(`its address family and transport are 0x${family.toString(16)}, not TCP`);
}

function readSource(addresses: Buffer, length: number): Source {
	if (addresses.length < 2 * length + 4) throw new Error("its header is too short for its addresses");
	const bytes = addresses.subarray(0, length);
	const port = addresses.readUInt16BE(2 * length);
	if (length === 4) return { address: bytes.join("."), port };
	const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16));
	return new SocketAddress({ address: groups.join(":"), family: "ipv6", port });
}

export interface ProxyHeadersOptions {
	/** Whether a proxy has this address. */
	readonly isProxy: (address: string) => boolean;
	/** For the whole header. */
	readonly headerMs: number;
	readonly onRefused: (remoteAddress: string, problem: string) => void;
}

/**
 * From now on each connection must begin with a header and come from a proxy; any other is closed. To be called once all
 * listeners of `connection` are set: they get a connection after its header, with the client's address and port.
 */
export function requireProxyHeaders(server: Server, options: ProxyHeadersOptions): void {
	const listeners = server.listeners("connection");
	/** A TLS socket has no reference to its connection, but the same peer. */
	const sources = new Map<string, Source>();
	server.removeAllListeners("connection");
	server.on("connection", async (socket: Socket) => {
		const peer = nameOf(socket);
		const header = await readHeader(socket, options);
		if (!header) return;
		const { source } = header;
		if (source) {
			sources.set(peer, source);
			socket.once("close", () => sources.get(peer) === source && sources.delete(peer));
			setSource(socket, source);
		}
		for (const listener of listeners) Reflect.apply(listener, server, [socket]);
		// A TLS socket reads by itself.
		if (socket.listenerCount("data") > 0) socket.resume();
	});
	server.prependListener("secureConnection", (socket: Socket) => {
		const source = sources.get(nameOf(socket));
		if (source) setSource(socket, source);
	});
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
	return `${remoteAddress} ${remotePort}`;
}

function setSource(socket: Socket, { address, port }: Source): void {
	Object.defineProperties(socket, { remoteAddress: { value: address }, remotePort: { value: port } });
}

/** Leaves what follows the header to be read. @returns undefined if the connection is closed */
function readHeader(socket: Socket, options: ProxyHeadersOptions): Promise<ProxyHeader | undefined> {
	const { isProxy, headerMs, onRefused } = options;
	const { remoteAddress = "" } = socket;
	let received: Buffer = Buffer.alloc(0);
	return new Promise((resolve) => {
		const refuse = (problem: string) => {
			onRefused(remoteAddress, problem);
			socket.destroy();
		};
		const onError = () => socket.destroy();
		const onClose = () => {
			clearTimeout(timer);
			resolve(undefined);
		};
		const onData = (bytes: Buffer) => {
			received = Buffer.concat([received, bytes]);
			try {
				const header = parseProxyHeader(received);
				if (!header) return;
				clearTimeout(timer);
				socket.off("data", onData).off("error", onError).off("close", onClose).pause();
				socket.unshift(received.subarray(header.byteCount));
				resolve(header);
			} catch (error) {
				refuse(error instanceof Error ? error.message : String(error));
			}
		};
		const timer = setTimeout(() => refuse("its header of the PROXY protocol did not come in time"), headerMs);
		socket.on("data", onData).on("error", onError).on("close", onClose);
		// Undefined if it is closed already, such as that of a health check.
		if (socket.remoteAddress === undefined) socket.destroy();
		else if (!isProxy(remoteAddress)) refuse("its address is not in PROXY_PROTOCOL");
	});
}
