/** Downloads whose chunks take many turns to process. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LookupTicket } from "../../../device/network/lookup.js";
import { Download } from "../../../device/update/download.js";
import { HttpClient } from "../../../hosts/virtual/modules/http-client.js";
import { assertSameBytes } from "../../support/bytes.js";
import { NodeSha256, resolverOf } from "./rig.js";
import { MemoryServer, type ServerOptions } from "./server.js";
import { clock } from "./timer.js";

const blockBytes = 4096;
const file = Buffer.from(Uint8Array.from({ length: 3 * blockBytes + 100 }, (_, at) => (at * 7) ^ (at >> 8)));

/** Expected chunks, each of which is delivered ten times. */
function fetchSlowly(options: Partial<ServerOptions>, onTurn = (_server: MemoryServer) => {}) {
	const server = new MemoryServer({ file, ...options });
	const taken: Buffer[] = [];
	let turns = 0;
	let mostAhead = 0;
	let end: { reason: string | undefined } | undefined;
	const io = server.sockets;
	const address = { isSecure: false, host: "gateway.lan", port: 8080, path: "/a.bin" };
	new Download({
		connect: (options) => new HttpClient(options, (socketOptions) => new io(socketOptions)),
		createLookup: () => new LookupTicket(resolverOf([])),
		sha256: NodeSha256,
		url: address,
		headers: [],
		buffer: new Uint8Array(blockBytes),
		now: () => clock.now,
		isOnline: () => true,
		isPaced: true,
		onPiece: (piece) => {
			mostAhead = Math.max(
				mostAhead,
				server.requests.length - Math.floor(Buffer.concat(taken).length / blockBytes),
			);
			turns += 1;
			onTurn(server);
			if (turns % 10 > 0) return false;
			taken.push(Buffer.from(piece));
			return true;
		},
		onEnd: (reason) => {
			end = { reason };
		},
	});
	clock.runUntil(() => end !== undefined, 600_000);
	return { reason: end?.reason, bytes: Buffer.concat(taken), mostAhead, server };
}

test("fetches no block before the previous one is used up", () => {
	const { reason, bytes, mostAhead, server } = fetchSlowly({});
	assert.equal(reason, undefined);
	assertSameBytes(bytes, file);
	assert.equal(mostAhead, 1);
	assert.equal(server.requests.length, 4);
});

test("allows the server to close an idle connection meanwhile", () => {
	const { reason, bytes, server } = fetchSlowly({}, (idle) => {
		idle.cut();
		clock.spend(1_000);
	});
	assert.equal(reason, undefined);
	assertSameBytes(bytes, file);
	assert.equal(server.requests.length, 4);
	assert.equal(server.connections, 4);
});

test("does not count its own processing time as silence of the server", () => {
	const { reason, server } = fetchSlowly({}, () => clock.spend(10_000));
	assert.equal(reason, undefined);
	assert.equal(server.connections, 1);
});
