/**
 * What a device needs for its first connection: its token, an address of this gateway, and the authority that signed
 * the gateway's certificate. The page that installs firmware asks for it.
 */

import { type RequestHandler, Router } from "express";
import { deviceId } from "../../device/protocol/messages.js";
import { object } from "../../device/protocol/schema.js";
import { readJson } from "../http/request-body.js";
import { refuseMethod } from "../problem.js";

export interface DeviceSetupOptions {
	readonly requirePerson: RequestHandler;
	/** The token that is only valid for this device. */
	readonly tokenOf: (deviceId: string) => string;
	/** As `deviceAddresses`. */
	readonly addresses: () => readonly string[];
	/** PEM; undefined: devices need none, or must be given another one. */
	readonly authority: () => string | undefined;
}

const tokenRequest = object({ deviceId });

export function deviceSetupRoutes(options: DeviceSetupOptions): Router {
	const { requirePerson, tokenOf, addresses, authority } = options;
	const router = Router({ caseSensitive: true, strict: true });
	router
		.route("/api/device-tokens")
		.post(requirePerson, async (request, response) => {
			const asked = await readJson(request, tokenRequest, '{"deviceId":"dev-1-a1b2c3"}');
			response
				.status(201)
				.set("Cache-Control", "no-store")
				.json({ token: tokenOf(asked.deviceId) });
		})
		.all(refuseMethod("POST"));
	router
		.route("/api/device-setup")
		.get(requirePerson, (_request, response) => {
			response
				.set("Cache-Control", "no-store")
				.json({ addresses: addresses(), authority: authority() ?? null });
		})
		.all(refuseMethod("GET, HEAD"));
	return router;
}
