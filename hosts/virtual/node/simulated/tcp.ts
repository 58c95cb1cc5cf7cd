/** TCP and TLS sockets with a receive window and receive buffers: unread bytes make the sender wait, as on a board. */

import { connect as connectTcp, isIP, type Socket } from "node:net";
import {
	checkServerIdentity,
	connect as connectTls,
	type DetailedPeerCertificate,
	type PeerCertificate,
} from "node:tls";
import { expired, tooEarly, unknownAuthority, wrongName } from "../../../moddable/tls/reasons.js";
import type { PeerOptions, Peripherals, Secure } from "../../peripherals.js";
import type { Hardware, Opened, Simulated } from "./hardware.js";
import { type ReceiveBuffers, windowBytes } from "./receive-buffers.js";

/** Four segments: what a busy board's driver delivers at a time. */
const pieceBytes = 5_760;
/** Unread bytes in the device's heap; the rest of the window is here, as it is in lwIP's memory on a board. */
const deviceBytes = 2 * pieceBytes;

export class TcpSocket implements Simulated<"tcp"> {
	readonly #channel: Opened<"tcp">;
	readonly #buffers: ReceiveBuffers;
	/** Undefined where the given certificate is not one. */
	readonly #socket: Socket | undefined;
	/** Received, and not sent to the device yet. */
	#received: Buffer[] = [];
	#receivedBytes = 0;
	/** Sent to the device, and not read there. */
	#unreadBytes = 0;
	/** The peer has closed the connection; the device is told when it has read what was received, as by hosts/esp32/tcp. */
	#hasEnded = false;
	#isOver = false;

	readonly posts: Peripherals["tcp"]["posts"] = {
		write: (_detail, bytes) => void this.#socket?.write(Buffer.from(bytes)),
		taken: (byteCount) => {
			this.#unreadBytes -= byteCount;
			this.#deliver();
		},
	};

	constructor(channel: Opened<"tcp">, { receiveBuffers }: Hardware) {
		this.#channel = channel;
		this.#buffers = receiveBuffers;
		this.#socket = this.#connect();
	}

	onClose(): void {
		this.#isOver = true;
		this.#buffers.release(this);
		this.#socket?.destroy();
	}

	#connect(): Socket | undefined {
		try {
			const socket = connect(this.#channel.options);
			this.#listen(socket);
			return socket;
		} catch {
			setImmediate(() => this.#fail());
			return undefined;
		}
	}

	#listen(socket: Socket): void {
		const isSecure = this.#channel.options.secure !== undefined;
		socket.setNoDelay(true);
		socket.on("connect", () => socket.connecting || isSecure || this.#channel.send("open"));
		socket.on("secureConnect", () => this.#channel.send("open"));
		socket.on("data", (bytes: Buffer) => {
			for (let at = 0; at < bytes.length; at += pieceBytes)
				this.#received.push(bytes.subarray(at, at + pieceBytes));
			this.#receivedBytes += bytes.length;
			this.#deliver();
		});
		socket.on("error", (error) => {
			const reason = whyUntrusted(error);
			if (reason !== undefined && !this.#isOver) this.#channel.send("untrusted", reason);
			this.#fail();
		});
		socket.on("close", () => {
			this.#hasEnded = true;
			this.#deliver();
		});
	}

	#deliver(): void {
		if (this.#isOver) return;
		// What is beyond the window is still at the sender.
		const arrivedBytes = Math.min(windowBytes, this.#unreadBytes + this.#receivedBytes);
		const fittingBytes = this.#buffers.occupy(this, arrivedBytes, () => this.#deliver());
		while (this.#unreadBytes < deviceBytes) {
			const [piece] = this.#received;
			if (!piece || this.#unreadBytes + piece.length > fittingBytes) break;
			this.#received.shift();
			this.#receivedBytes -= piece.length;
			this.#unreadBytes += piece.length;
			this.#channel.send("data", null, piece);
		}
		if (this.#unreadBytes + this.#receivedBytes > windowBytes) this.#socket?.pause();
		else this.#socket?.resume();
		if (this.#hasEnded && this.#received.length === 0 && this.#unreadBytes === 0) this.#fail();
	}

	#fail(): void {
		if (!this.#isOver) this.#channel.send("error");
		this.#isOver = true;
		this.#buffers.release(this);
	}
}

function connect({ address: host, port, host: name, secure }: PeerOptions): Socket {
	if (!secure) return connectTcp({ host, port });
	return connectTls({
		host,
		port,
		ALPNProtocols: ["http/1.1"],
		// Without a name the certificate must be for the address.
		...(isIP(name) === 0 && { servername: name }),
		...trustOf(secure),
	});
}

export interface Trust {
	readonly ca?: string;
	readonly checkServerIdentity?: (name: string, certificate: PeerCertificate) => Error | undefined;
}

/**
 * @returns the certificate authority, unless Node's are meant, and a check of dates by the device's clock
 */
export function trustOf({ certificate, now }: Secure): Trust {
	return {
		...(certificate !== undefined && { ca: pem(certificate) }),
		checkServerIdentity: (name, peer) => checkName(name, peer) ?? checkDates(peer, now),
	};
}

function pem(base64: string): string {
	const lines = base64.match(/.{1,64}/g) ?? [];
	return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----"].join("\n");
}

/** A server that is not trusted, with the boards' reason. */
class Untrusted extends Error {}

/**
 * @param error of a connection
 * @returns why the server is not trusted; undefined: it was not reached
 */
export function whyUntrusted(error: Error): string | undefined {
	if (error instanceof Untrusted) return error.message;
	const code = "code" in error ? String(error.code) : "";
	if (/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_SIGNATURE_|INVALID_CA)/.test(code)) return unknownAuthority;
	// By this computer's clock; before the check by the device's.
	if (code === "CERT_HAS_EXPIRED") return "TLS: a certificate of the server or its authority has expired";
	if (code === "CERT_NOT_YET_VALID")
		return "TLS: a certificate of the server or its authority is not valid yet";
	return /^(CERT_|ERR_SSL_|ERR_TLS_|EPROTO)/.test(code) ? `TLS: ${error.message}` : undefined;
}

function checkName(name: string, peer: PeerCertificate): Error | undefined {
	if (!checkServerIdentity(name, peer)) return undefined;
	const names = peer.subjectaltname?.split(", ").map((each) => each.replace(/^[^:]*:/, "")) ?? [];
	return new Untrusted(wrongName(names, name));
}

function checkDates(peer: DetailedPeerCertificate | PeerCertificate, now: number): Error | undefined {
	const [from, to] = [Date.parse(peer.valid_from), Date.parse(peer.valid_to)];
	if (now < from) return new Untrusted(tooEarly(from, now));
	if (now > to) return new Untrusted(expired(to, now));
	const issuer = "issuerCertificate" in peer ? peer.issuerCertificate : undefined;
	return issuer && issuer !== peer ? checkDates(issuer, now) : undefined;
}
