/** TCP and TLS sockets with a receive window: unread bytes throttle the sender, as on a board. */

import { connect as connectTcp, isIP, type Socket } from "node:net";
import {
	checkServerIdentity,
	connect as connectTls,
	type DetailedPeerCertificate,
	type PeerCertificate,
} from "node:tls";
import { messageOf } from "../../../../device/message-of.js";
import { expired, tooEarly, unknownAuthority, wrongName } from "../../../moddable/tls/reasons.js";
import type { Peripherals } from "../../peripherals.js";
import type { Opened, Simulated } from "./hardware.js";

/** CONFIG_LWIP_TCP_WND_DEFAULT of the boards, in bytes. */
const windowBytes = 16_384;
/** Four segments, which the driver of a busy board delivers at a time. */
const pieceBytes = 5_760;

export class TcpSocket implements Simulated<"tcp"> {
	readonly #channel: Opened<"tcp">;
	/** Undefined if the given certificate is invalid. */
	readonly #socket: Socket | undefined;
	/** Bytes not read by the device, of which the first `#announcedBytes` are announced. */
	#received: Buffer = Buffer.alloc(0);
	#announcedBytes = 0;
	/** Whether the peer has closed the connection. Reported after all bytes are read, like by hosts/esp32/tcp. */
	#hasEnded = false;
	#isOver = false;

	constructor(channel: Opened<"tcp">) {
		this.#channel = channel;
		this.#socket = this.#connect();
	}

	write(_detail: undefined, bytes: Uint8Array): void {
		const { byteLength } = bytes;
		this.#socket?.write(Buffer.from(bytes), () => this.#channel.send("sent", byteLength));
	}

	read(byteCount: number): Buffer {
		const taken = this.#received.subarray(0, byteCount);
		this.#received = this.#received.subarray(byteCount);
		this.#announcedBytes -= byteCount;
		this.#deliver();
		return taken;
	}

	/** Lets bytes in flight be sent, like a TCP stack. */
	onClose(): void {
		this.#isOver = true;
		this.#socket?.destroySoon();
	}

	#connect(): Socket | undefined {
		try {
			const socket = connect(this.#channel.options);
			this.#listen(socket);
			return socket;
		} catch (error) {
			setImmediate(() => {
				this.#channel.send("untrusted", `TLS: ${messageOf(error)}`);
				this.#fail();
			});
			return undefined;
		}
	}

	#listen(socket: Socket): void {
		const isSecure = this.#channel.options.secure !== undefined;
		socket.setNoDelay(true);
		socket.on("connect", () => socket.connecting || isSecure || this.#channel.send("open"));
		socket.on("secureConnect", () => this.#channel.send("open"));
		socket.on("data", (bytes: Buffer) => {
			this.#received = Buffer.concat([this.#received, bytes]);
			this.#deliver();
		});
		socket.on("error", (error) => {
			const reason = untrustedReason(error);
			if (reason !== undefined && !this.#isOver) this.#channel.send("untrusted", reason);
			this.#fail(error.message);
		});
		socket.on("close", () => {
			this.#hasEnded = true;
			this.#deliver();
		});
	}

	#deliver(): void {
		if (this.#isOver) return;
		// Bytes beyond the window are still at the sender.
		const arrivedBytes = Math.min(windowBytes, this.#received.length);
		while (arrivedBytes > this.#announcedBytes) {
			const byteCount = Math.min(pieceBytes, arrivedBytes - this.#announcedBytes);
			this.#announcedBytes += byteCount;
			this.#channel.send("readable", byteCount);
		}
		if (this.#received.length > windowBytes) this.#socket?.pause();
		else this.#socket?.resume();
		if (this.#hasEnded && this.#received.length === 0) this.#fail();
	}

	/** @param reason null: the peer has closed the connection */
	#fail(reason: string | null = null): void {
		if (!this.#isOver) this.#channel.send("error", reason);
		this.#isOver = true;
	}
}

/** Checks the server's name and dates by the device's clock. */
function connect({ address: host, port, host: name, secure }: Peripherals["tcp"]["options"]): Socket {
	if (!secure) return connectTcp({ host, port });
	const { certificate, now } = secure;
	return connectTls({
		host,
		port,
		ALPNProtocols: ["http/1.1"],
		// Without a name, the certificate must match the address.
		...(isIP(name) === 0 && { servername: name }),
		...(certificate !== undefined && { ca: pem(certificate) }),
		checkServerIdentity: (wanted, peer) => checkName(wanted, peer) ?? checkDates(peer, now),
	});
}

function pem(base64: string): string {
	const lines = base64.match(/.{1,64}/g) ?? [];
	return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----"].join("\n");
}

/** Untrusted server, with the same message as on boards. */
class Untrusted extends Error {}

/**
 * @param error error of a connection
 * @returns the reason why the server is not trusted; undefined for other errors
 */
function untrustedReason(error: Error): string | undefined {
	if (error instanceof Untrusted) return error.message;
	const code = "code" in error ? String(error.code) : "";
	if (/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|CERT_SIGNATURE_|INVALID_CA)/.test(code)) return unknownAuthority;
	// Checked by this computer's clock, before the check by the device's clock.
	if (code === "CERT_HAS_EXPIRED") return "TLS: a certificate of the server or its authority has expired";
	if (code === "CERT_NOT_YET_VALID")
		return "TLS: a certificate of the server or its authority is not valid yet";
	return /^(CERT_|ERR_SSL_|ERR_TLS_|EPROTO)/.test(code) ? `TLS: ${error.message}` : undefined;
}

function checkName(name: string, peer: PeerCertificate): Error | undefined {
	if (!checkServerIdentity(name, peer)) return undefined;
	const names = peer.subjectaltname?.split(", ").map((name) => name.replace(/^[^:]*:/, "")) ?? [];
	return new Untrusted(wrongName(names, name));
}

function checkDates(peer: DetailedPeerCertificate | PeerCertificate, now: number): Error | undefined {
	const [from, to] = [Date.parse(peer.valid_from), Date.parse(peer.valid_to)];
	if (now < from) return new Untrusted(tooEarly(from, now));
	if (now > to) return new Untrusted(expired(to, now));
	const issuer = "issuerCertificate" in peer ? peer.issuerCertificate : undefined;
	return issuer && issuer !== peer ? checkDates(issuer, now) : undefined;
}
