/**
 * TLS 1.2 server with a genuine server's public certificates but no private key. It sends its own ECDHE key with an
 * arbitrary signature and completes the handshake (RFC 5246, RFC 5288).
 */

import {
	createCipheriv,
	createDecipheriv,
	createECDH,
	createHash,
	createHmac,
	randomBytes,
} from "node:crypto";
import { createServer, type Server } from "node:net";

const handshake = 22;
const uint16 = (value: number) => Buffer.from([value >> 8, value & 255]);
const uint24 = (value: number) => Buffer.from([value >> 16, (value >> 8) & 255, value & 255]);
const message = (type: number, ...body: readonly Uint8Array[]) => {
	const bytes = Buffer.concat(body);
	return Buffer.concat([Buffer.from([type]), uint24(bytes.length), bytes]);
};
const record = (type: number, body: Buffer) =>
	Buffer.concat([Buffer.from([type, 3, 3]), uint16(body.length), body]);

/** Alert record, RFC 5246, 7.2. */
function expand(secret: Buffer, label: string, seed: Buffer, length: number): Buffer {
	const hmac = (data: Buffer) => createHmac("sha256", secret).update(data).digest();
	const labelled = Buffer.concat([Buffer.from(label), seed]);
	let chained = labelled;
	let bytes = Buffer.alloc(0);
	while (bytes.length < length) {
		chained = hmac(chained);
		bytes = Buffer.concat([bytes, hmac(Buffer.concat([chained, labelled]))]);
	}
	return bytes.subarray(0, length);
}

export interface ForgedServerOptions {
	/** Certificates in DER. */
	readonly chain: readonly Uint8Array[];
	/** Signature of its key: hash, type, length and bytes. */
	readonly signature: readonly number[];
	/** @param heard data that the client sent encrypted; undefined: it closed the connection */
	readonly onOutcome: (heard: string | undefined) => void;
}

export function forgedServer({ chain, signature, onOutcome }: ForgedServerOptions): Server {
	return createServer((socket) => {
		let received = Buffer.alloc(0);
		let transcript = Buffer.alloc(0);
		let clientRandom: Buffer = Buffer.alloc(0);
		let master: Buffer = Buffer.alloc(0);
		let keys: Buffer = Buffer.alloc(0);
		let isEncrypted = false;
		let readCount = 0n;
		let step = 0;
		const serverRandom = randomBytes(32);
		const ecdh = createECDH("prime256v1");
		ecdh.generateKeys();

		const say = (bytes: Buffer) => {
			transcript = Buffer.concat([transcript, bytes]);
			socket.write(record(handshake, bytes));
		};
		const additional = (count: bigint, type: number, length: number) => {
			const bytes = Buffer.alloc(8);
			bytes.writeBigUInt64BE(count);
			return Buffer.concat([bytes, Buffer.from([type, 3, 3]), uint16(length)]);
		};
		const decrypt = (type: number, body: Buffer) => {
			const text = body.subarray(8, -16);
			const iv = Buffer.concat([keys.subarray(32, 36), body.subarray(0, 8)]);
			const decipher = createDecipheriv("aes-128-gcm", keys.subarray(0, 16), iv);
			decipher.setAAD(additional(readCount++, type, text.length)).setAuthTag(body.subarray(-16));
			return Buffer.concat([decipher.update(text), decipher.final()]);
		};
		const answerHello = (hello: Buffer) => {
			clientRandom = hello.subarray(6, 38);
			say(message(2, Buffer.from([3, 3]), serverRandom, Buffer.from([0, 0xc0, 0x2f, 0])));
			const certificates = Buffer.concat(chain.flatMap((der) => [uint24(der.length), der]));
			say(message(11, uint24(certificates.length), certificates));
			const point = ecdh.getPublicKey();
			say(message(12, Buffer.from([3, 0, 23, point.length]), point, Buffer.from(signature)));
			say(message(14));
		};
		const finish = () => {
			socket.write(record(20, Buffer.from([1])));
			const seen = createHash("sha256").update(transcript).digest();
			const finished = message(20, expand(master, "server finished", seen, 12));
			const nonce = Buffer.alloc(8);
			const iv = Buffer.concat([keys.subarray(36, 40), nonce]);
			const cipher = createCipheriv("aes-128-gcm", keys.subarray(16, 32), iv);
			cipher.setAAD(additional(0n, handshake, finished.length));
			const sealed = [nonce, cipher.update(finished), cipher.final(), cipher.getAuthTag()];
			socket.write(record(handshake, Buffer.concat(sealed)));
		};
		const hear = (type: number, raw: Buffer) => {
			const body = isEncrypted ? decrypt(type, raw) : raw;
			if (type === 20) isEncrypted = true;
			if (type === 23) onOutcome(body.toString("latin1"));
			if (type !== handshake) return;
			transcript = Buffer.concat([transcript, body]);
			step += 1;
			if (step === 1) answerHello(body);
			if (step === 2) {
				const randoms = [clientRandom, serverRandom];
				const shared = ecdh.computeSecret(body.subarray(5));
				master = expand(shared, "master secret", Buffer.concat(randoms), 48);
				keys = expand(master, "key expansion", Buffer.concat(randoms.reverse()), 40);
			}
			if (step === 3) finish();
		};

		socket.on("error", () => {});
		socket.on("close", () => onOutcome(undefined));
		socket.on("data", (bytes: Buffer) => {
			received = Buffer.concat([received, bytes]);
			while (received.length >= 5 && received.length >= 5 + received.readUInt16BE(3)) {
				const length = 5 + received.readUInt16BE(3);
				const whole = received.subarray(0, length);
				received = received.subarray(length);
				hear(whole[0] ?? 0, whole.subarray(5));
			}
		});
	});
}
