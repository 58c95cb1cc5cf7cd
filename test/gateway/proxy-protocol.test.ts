import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, Socket } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import fc from "fast-check";
import type { GatewayOptions } from "../../gateway/gateway.js";
import { parseProxyHeader, requireProxyHeaders } from "../../gateway/proxy-protocol.js";
import { readSettings } from "../../gateway/settings.js";
import { createLog } from "../../gateway/telemetry/log.js";
import { Authority, whyNoCertificates } from "../support/certificates.js";
import { onEnd } from "../support/cleanup.js";
import {
	bearer,
	deviceToken,
	monitorToken,
	runGateway,
	temporaryDirectory,
	upgradeRequest,
} from "../support/running.js";

const signature = "0d0a0d0a000d0a515549540a";

/** @param rest after the length, in hex */
function header(command: string, family: string, rest: string): Buffer {
	const length = (rest.length / 2).toString(16).padStart(4, "0");
	return Buffer.from(signature + command + family + length + rest, "hex");
}

const ipv4 = header("21", "11", "c00002077f000001d43101bb");
const ipv6 = header("21", "21", `20010db8000000000000000000000007${"00".repeat(15)}01d43101bb`);

describe("a header of the PROXY protocol", () => {
	test("tells the client's address and port", () => {
		assert.deepEqual(parseProxyHeader(ipv4)?.source, { address: "192.0.2.7", port: 54_321 });
		const { address, port } = parseProxyHeader(ipv6)?.source ?? {};
		assert.deepEqual([address, port], ["2001:db8::7", 54_321]);
	});

	test("has extensions, which are skipped", () => {
		const long = header("21", "11", `c00002077f000001d43101bb${"ea0003616263"}${"ff".repeat(200)}`);
		const read = parseProxyHeader(Buffer.concat([long, Buffer.from("GET /")]));
		assert.deepEqual([read?.source?.address, read?.byteCount], ["192.0.2.7", long.length]);
	});

	test("of the proxy itself, of a Unix socket, or of an unknown family has no address", () => {
		for (const local of [header("20", "00", ""), header("20", "11", "c00002077f000001d43101bb")])
			assert.deepEqual(parseProxyHeader(local), { byteCount: local.length, source: undefined });
		for (const other of [header("21", "00", ""), header("21", "31", "00".repeat(216))])
			assert.deepEqual(parseProxyHeader(other), { byteCount: other.length, source: undefined });
	});

	test("may come in any pieces", () => {
		for (const whole of [ipv4, ipv6])
			for (let length = 0; length < whole.length; length += 1)
				assert.equal(parseProxyHeader(whole.subarray(0, length)), undefined);
	});

	test("is refused if it is wrong, as soon as that is seen", () => {
		for (const [bytes, why] of [
			[Buffer.from("G"), /does not begin/],
			[Buffer.from("PROXY TCP4 192.0.2.7 127.0.0.1 54321 443\r\n"), /does not begin/],
			[Buffer.concat([ipv4.subarray(0, 11), Buffer.from("x")]), /does not begin/],
			[header("11", "11", "c00002077f000001d43101bb"), /version and command are 0x11/],
			[header("22", "11", "c00002077f000001d43101bb"), /version and command are 0x22/],
			[header("21", "12", "c00002077f000001d43101bb"), /transport are 0x12/],
			[header("21", "11", "c00002077f000001d431"), /too short/],
			[header("21", "21", "c00002077f000001d43101bb"), /too short/],
			[header("21", "11", "").fill(0xff, 14), /more than 4096/],
		] as const)
			assert.throws(() => parseProxyHeader(bytes), why);
	});

	test("is never read past its end, whatever it holds", () => {
		fc.assert(
			fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(255), (rest, family) => {
				const bytes = Buffer.concat([header("21", family.toString(16).padStart(2, "0"), ""), rest]);
				bytes.writeUInt16BE(rest.length, 14);
				try {
					assert.equal(parseProxyHeader(bytes)?.byteCount, bytes.length);
				} catch (error) {
					assert.ok(error instanceof Error && /too short|not TCP/.test(error.message), String(error));
				}
			}),
		);
	});
});

interface Listener {
	readonly url: string;
	readonly refused: { remoteAddress: string; problem: string }[];
	/** A connection from this machine, by the proxy's address. */
	open(): Socket;
}

async function run(t: TestContext, proxies = "127.0.0.1", options: GatewayOptions = {}) {
	const refused: Listener["refused"] = [];
	let heard = () => {};
	const write = (line: string) => {
		const { msg, remoteAddress, problem } = JSON.parse(line);
		if (msg === "connection refused") refused.push({ remoteAddress, problem });
		heard();
	};
	const { proxyProtocol } = readSettings({ PROXY_PROTOCOL: proxies });
	const gateway = await runGateway(t, { log: createLog("debug", { write }), ...options, proxyProtocol });
	const open = () => {
		const { port } = new URL(gateway.url);
		const socket = connect(Number(port), "127.0.0.1");
		socket.on("error", () => {});
		onEnd(t, () => socket.destroy());
		return socket;
	};
	return {
		...gateway,
		refused,
		open,
		nextLine: () =>
			new Promise<void>((resolve) => {
				heard = resolve;
			}),
	};
}

async function answerOf(socket: Socket | ReturnType<typeof connectTls>): Promise<string> {
	let answer = "";
	for await (const chunk of socket) answer += chunk;
	return answer;
}

const ask = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

describe("a gateway with PROXY_PROTOCOL", () => {
	test("answers after the header, in one packet with the request, before it, or byte by byte", async (t) => {
		const { open } = await run(t);
		const whole = open();
		whole.write(Buffer.concat([ipv4, Buffer.from(ask)]));
		assert.match(await answerOf(whole), /^HTTP\/1\.1 200 /);
		const bytewise = open().setNoDelay();
		for (const byte of [...ipv6, ...Buffer.from(ask)]) {
			bytewise.write(Buffer.of(byte));
			await setImmediate();
		}
		assert.match(await answerOf(bytewise), /^HTTP\/1\.1 200 /);
	});

	test("gives connections of one proxy the addresses of their clients, which do not share a limit", async (t) => {
		const { open, gateway } = await run(t, "127.0.0.1", { limits: { upgradesInTwoSeconds: 3 } });
		const statusOf = async (from: number) => {
			const socket = open();
			socket.write(header("21", "11", `c00002${from.toString(16).padStart(2, "0")}7f000001d43101bb`));
			socket.write(upgradeRequest("/device", gateway.tokens.device));
			return String((await once(socket, "data"))[0]).slice(9, 12);
		};
		const first = [];
		for (let count = 0; count < 4; count += 1) first.push(await statusOf(7));
		assert.deepEqual(first, ["101", "101", "101", "429"]);
		assert.equal(await statusOf(8), "101");
	});

	test("names the client's address in its records, and after a LOCAL header the proxy's", async (t) => {
		const { open } = await run(t);
		const addressOf = async (head: Buffer) => {
			const device = open();
			device.write(head);
			device.write(
				upgradeRequest("/device", deviceToken).replace("\r\n\r\n", "\r\nDevice-Id: dev-1-a1b2c3\r\n\r\n"),
			);
			await once(device, "data");
			const socket = open();
			socket.write(header("20", "00", ""));
			socket.write(
				`GET /api/devices/dev-1-a1b2c3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${bearer(monitorToken).Authorization}\r\n\r\n`,
			);
			const [, body = ""] = (await answerOf(socket)).split("\r\n\r\n");
			return JSON.parse(body.replace(/^[0-9a-f]+\r\n|\r\n0$/g, "")).remoteAddress;
		};
		assert.equal(await addressOf(ipv4), "192.0.2.7");
		assert.equal(await addressOf(ipv6), "2001:db8::7");
		assert.equal(await addressOf(header("20", "00", "")), "127.0.0.1");
	});

	test("counts unauthenticated connections by client: the one with the most loses its oldest", async (t) => {
		const { open } = await run(t, "127.0.0.1", { limits: { unauthenticatedConnections: 3 } });
		const connected = async (from: string, port: string) => {
			const socket = open();
			socket.write(header("21", "11", `c00002${from}7f000001${port}01bb`));
			socket.write("GET /");
			return socket;
		};
		const other = await connected("08", "0001");
		const oldest = await connected("07", "0001");
		const closed = once(oldest.resume(), "close");
		const rest = [await connected("07", "0002"), await connected("07", "0003")];
		await closed;
		assert.ok([other, ...rest].every(({ destroyed }) => !destroyed));
	});

	test("closes a connection without a header, with a line in the log", async (t) => {
		const { open, refused } = await run(t);
		const socket = open();
		socket.write(ask);
		assert.equal(await answerOf(socket), "");
		assert.equal(refused[0]?.remoteAddress, "127.0.0.1");
		assert.match(refused[0]?.problem ?? "", /does not begin with a header of the PROXY protocol/);
	});

	test("closes one from an address that is no proxy's, with a header and without", async (t) => {
		const { open, refused } = await run(t, "192.0.2.1,10.0.0.0/8");
		for (const bytes of [ipv4, Buffer.from(ask), Buffer.alloc(0)]) {
			const socket = open();
			socket.write(Buffer.concat([bytes, Buffer.from(ask)]));
			assert.equal(await answerOf(socket), "");
		}
		assert.equal(refused.length, 3);
		assert.match(refused[0]?.problem ?? "", /its address is not in PROXY_PROTOCOL/);
	});

	test("closes one whose header does not come in time, however slowly it drips", async (t) => {
		const { open, refused } = await run(t, "127.0.0.1", { limits: { requestHeadersMs: 50 } });
		const silent = open();
		const dripping = open();
		dripping.write(ipv4.subarray(0, 1));
		const drip = setInterval(() => dripping.write(Buffer.of(ipv4[1] ?? 0)), 10_000);
		t.after(() => clearInterval(drip));
		assert.deepEqual([await answerOf(silent), await answerOf(dripping)], ["", ""]);
		assert.match(refused[0]?.problem ?? "", /did not come in time/);
		assert.equal(refused.length, 2);
	});

	test("reads it before TLS", { skip: whyNoCertificates() }, async (t) => {
		const authority = new Authority(await temporaryDirectory(t), "authority");
		const { cert, key } = authority.issue("IP:127.0.0.1");
		const tls = { cert: Buffer.from(cert), key: Buffer.from(key) };
		const limits = { upgradesInTwoSeconds: 1 };
		const { open } = await run(t, "127.0.0.1", { tls, limits });
		const statusOf = async (head: Buffer) => {
			const below = open();
			below.write(head);
			const socket = connectTls({ socket: below, ca: authority.certificate, host: "127.0.0.1" });
			socket.on("error", () => {});
			socket.write(upgradeRequest("/device", deviceToken));
			return String((await once(socket, "data"))[0]).slice(9, 12);
		};
		assert.deepEqual(
			[await statusOf(ipv4), await statusOf(ipv4), await statusOf(ipv6)],
			["101", "429", "101"],
		);
	});
});

test("PROXY_PROTOCOL names addresses, and does not go with a TRUST_PROXY that counts", () => {
	for (const text of ["on", "1", "proxy.example", "127.0.0.1,"])
		assert.throws(
			() => readSettings({ PROXY_PROTOCOL: text }),
			/PROXY_PROTOCOL is ".+"; set it to the addresses/,
		);
	assert.throws(
		() => readSettings({ PROXY_PROTOCOL: "127.0.0.1", TRUST_PROXY: "1" }),
		/TRUST_PROXY is "1", but with PROXY_PROTOCOL .+; set TRUST_PROXY to addresses, or leave it out/,
	);
	const { proxyProtocol } = readSettings({ PROXY_PROTOCOL: "10.0.0.0/8, ::1", TRUST_PROXY: "127.0.0.1" });
	assert.deepEqual(
		["10.1.2.3", "::ffff:10.1.2.3", "::1", "127.0.0.1", ""].map((address) => proxyProtocol?.(address)),
		[true, true, true, false, false],
	);
});

test("a connection that is closed before it is accepted, as by a health check, is no refusal", async () => {
	const server = createServer();
	const isRefused: string[] = [];
	requireProxyHeaders(server, {
		isProxy: () => false,
		headerMs: 1000,
		onRefused: (_address, problem) => isRefused.push(problem),
	});
	const socket = new Socket();
	server.emit("connection", socket);
	await once(socket, "close");
	assert.deepEqual(isRefused, []);
});
