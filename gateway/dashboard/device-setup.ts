/**
 * What a device needs for its first connection: its token, an address of this gateway, and the authority that signed
 * the gateway's certificate. The page that installs firmware requests it.
 */

import { deviceTokenOf } from "../access/secrets.js";
import { deviceSetupRoutes } from "../api/device-setup.js";
import { type Route, serve } from "../http/routes.js";

export interface DeviceSetupOptions {
	/** The token of all devices. */
	readonly deviceToken: () => string;
	/** As `deviceAddresses`. */
	readonly addresses: () => readonly string[];
	/** PEM; undefined: devices need none, or must be given another one. */
	readonly authority: () => string | undefined;
}

export function createDeviceSetupRoutes(options: DeviceSetupOptions): readonly Route[] {
	const { deviceToken, addresses, authority } = options;
	return serve(deviceSetupRoutes, {
		"GET /api/device-token": () => ({ token: deviceToken() }),
		"POST /api/device-tokens": ({ body: { deviceId } }) => ({
			token: deviceTokenOf(deviceToken(), deviceId),
		}),
		"GET /api/device-setup": () => ({ addresses: addresses(), authority: authority() ?? null }),
	});
}
