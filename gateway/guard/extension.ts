/** Protection against abusive clients, and against a fleet that reconnects at once. */

import type { IncomingMessage } from "node:http";
import { AddressLimit } from "../access/rates.js";
import type { Core, Extension } from "../extension.js";
import type { HttpRejection } from "../problem.js";
import { tryAgain } from "../sockets/upgrades.js";
import { AdmissionRate, EventLoopDelay } from "./admission-rate.js";
import { Connections, maxUnauthenticatedOf } from "./connections.js";

export const guardLimits = Object.freeze({
	/** At most half of the files that may be open. */
	unauthenticatedConnections: 2000,
	/** At the start, at once; then see admission-rate.ts. */
	deviceBurst: 200,
	/** Limit per device id, so that a device in a reconnect loop does not block others. */
	returnsInTenSeconds: 20,
	/** Limit per address, counting admitted upgrades by path, and rejected ones. */
	upgradesInTwoSeconds: 150,
});

export function createGuard(core: Core): Extension {
	const { monotonic, metrics, log } = core;
	const limits = { ...guardLimits, ...core.limits };
	const connections = new Connections({
		maxUnauthenticated: maxUnauthenticatedOf(limits.unauthenticatedConnections),
		monotonic,
	});
	const addresses = new AddressLimit({
		points: limits.upgradesInTwoSeconds,
		seconds: 2,
		what: "connections",
	});
	const returns = new AddressLimit({ points: limits.returnsInTenSeconds, seconds: 10, what: "connections" });
	const delay = new EventLoopDelay();
	const admissions = new AdmissionRate({
		perSecond: limits.devicesASecond,
		burst: limits.deviceBurst,
		monotonic,
		takeDelayMs: () => delay.take(),
		onReport: (report) => log.info(report, "many devices connect"),
	});
	metrics.watch("gateway_admitted_devices_per_second", "That are let in at most, at present", () =>
		Math.round(admissions.perSecond),
	);

	/** Counts refused and valid clients of an address separately. */
	async function count(
		request: IncomingMessage,
		path: string | undefined,
		rejection: HttpRejection | undefined,
	) {
		const name = request.headers["device-id"];
		const returned = rejection || name === undefined ? undefined : returns.count(request, String(name));
		return returned ?? addresses.count(request, rejection ? "refused" : `admitted ${path}`);
	}

	return {
		guard: {
			watch: (server, isTls) => connections.watch(server, isTls),
			onRequest: (request, response, isKnown) => connections.take(request, response, isKnown),
			release: (stream, head) => connections.release(stream, head),
			onAdmitted: ({ socket }) => connections.admit(socket),
			look: () => crowded(admissions.look()),
			admit: async (request, path, rejection) =>
				(await count(request, path, rejection)) ??
				rejection ??
				(path === "/device" ? crowded(admissions.take()) : undefined),
			close: () => delay.close(),
		},
	};
}

/** @param seconds undefined: not crowded */
function crowded(seconds: number | undefined): HttpRejection | undefined {
	return seconds === undefined ? undefined : tryAgain("Too many devices connect at this moment", seconds);
}
