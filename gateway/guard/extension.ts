/** Extension that limits abusive clients, and throttles a fleet that reconnects at once. */

import type { IncomingMessage } from "node:http";
import { AddressLimit } from "../access/rates.js";
import type { Core, Extension } from "../extension.js";
import type { HttpRejection } from "../problem.js";
import { serviceUnavailable } from "../sockets/upgrades.js";
import { AdmissionRate, watchEventLoopDelay } from "./admission-rate.js";
import { Connections, maxUnauthenticatedOf } from "./connections.js";

export const guardLimits = Object.freeze({
	/** Limited to half of the file descriptors. */
	unauthenticatedConnections: 2000,
	/** Devices admitted at once after the start; see admission-rate.ts. */
	deviceBurst: 200,
	/** Limit per device id, so that a device in a reconnect loop does not block others. */
	reconnectsInTenSeconds: 20,
	/** Limit per address, counted separately for each path, and for rejected upgrades. */
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
	const reconnects = new AddressLimit({
		points: limits.reconnectsInTenSeconds,
		seconds: 10,
		what: "connections",
	});
	const delay = watchEventLoopDelay();
	const admissions = new AdmissionRate({
		perSecond: limits.devicesASecond,
		burst: limits.deviceBurst,
		monotonic,
		readDelayMs: delay.readMs,
		onThrottling: (perSecond) => log.info({ perSecond }, "throttling connecting devices"),
	});
	metrics.watch("gateway_admitted_devices_per_second", "Current rate limit of connecting devices", () =>
		Math.round(admissions.perSecond),
	);

	/** Counts an upgrade. Rejected and admitted ones of an address are counted separately. */
	async function count(
		request: IncomingMessage,
		path: string | undefined,
		rejection: HttpRejection | undefined,
	) {
		const name = request.headers["device-id"];
		const reconnectRejection =
			rejection || name === undefined ? undefined : reconnects.count(request, String(name));
		return reconnectRejection ?? addresses.count(request, rejection ? "rejected" : `admitted ${path}`);
	}

	return {
		guard: {
			watch: (server, isTls) => connections.watch(server, isTls),
			onRequest: (request, response, isKnown) => connections.onRequest(request, response, isKnown),
			release: (stream, head) => connections.release(stream, head),
			onAdmitted: ({ socket }) => connections.admit(socket),
			checkRate: () => throttled(admissions.check()),
			admit: async (request, path, rejection) =>
				(await count(request, path, rejection)) ??
				rejection ??
				(path === "/device" ? throttled(admissions.tryAdmit()) : undefined),
			close: delay.close,
		},
	};
}

/** @param seconds time until a retry; undefined: not throttled */
function throttled(seconds: number | undefined): HttpRejection | undefined {
	return seconds === undefined ? undefined : serviceUnavailable("Too many devices are connecting", seconds);
}
