/**
 * Settings for a device's first connection: its token, a URL of this gateway, and the CA certificate of the
 * gateway. Requested by the page that installs firmware.
 */

import { deviceTokenOf } from "../access/secrets.js";
import { deviceSetupRoutes } from "../api/device-setup.js";
import { type Route, serve } from "../http/routes.js";

export interface DeviceSetupOptions {
	/** Token of all devices. */
	readonly deviceToken: () => string;
	/** Result of `deviceAddresses`. */
	readonly addresses: () => readonly string[];
	/** PEM; undefined: devices need none, or a different one. */
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
