import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ResolveOptions } from "../../../device/host.js";
import { LookupTicket } from "../../../device/network/lookup.js";

/** Resolver that responds when the test tells it to. */
function heldResolver() {
	const asked: ResolveOptions[] = [];
	class Resolver {
		resolve(options: ResolveOptions) {
			asked.push(options);
		}
	}
	return { asked, Resolver };
}

/** Uses a ticket as the SDK's clients use their `dns` option. */
function look(ticket: LookupTicket, host: string) {
	const heard: string[] = [];
	new ticket.io(ticket).resolve({
		host,
		onResolved: (name, address) => heard.push(`${name} is ${address}`),
		onError: () => heard.push("error"),
	});
	return heard;
}

describe("name lookup", () => {
	test("resolves the host without the port of the Host header", () => {
		const { asked, Resolver } = heldResolver();
		const heard = look(new LookupTicket(Resolver), "gateway.local:8080");
		assert.equal(asked[0]?.host, "gateway.local");
		asked[0]?.onResolved("gateway.local", "10.0.0.1");
		assert.deepEqual(heard, ["gateway.local is 10.0.0.1"]);
	});

	test("opens no socket after it was canceled", () => {
		for (const answer of ["onResolved", "onError"] as const) {
			const { asked, Resolver } = heldResolver();
			const ticket = new LookupTicket(Resolver);
			const heard = look(ticket, "gateway.local:8080");
			ticket.isCancelled = true;
			asked[0]?.[answer]("gateway.local", "10.0.0.1");
			assert.deepEqual(heard, []);
		}
	});
});
