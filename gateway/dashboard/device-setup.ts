/**
 * Settings for a device's first connection: its token, a URL of this gateway, and the CA certificate of the
 * gateway. Requested by the page that installs firmware.
 */

import { deviceTokenOf } from "../access/secrets.js";
import { deviceSetupRoutes } from "../api/device-setup.js";
import type { Core } from "../extension.js";
import { type Route, serve } from "../http/routes.js";
import { deviceAddresses } from "../http/server.js";

export function createDeviceSetupRoutes(core: Core): readonly Route[] {
	/** Token of all devices. */
	const deviceToken = () => core.tokens.current("device");
	return serve(deviceSetupRoutes, {
		"GET /api/device-token": () => ({ token: deviceToken() }),
		"POST /api/device-tokens": ({ body: { deviceId } }) => ({
			token: deviceTokenOf(deviceToken(), deviceId),
		}),
		"GET /api/device-setup": () => ({
			addresses: deviceAddresses(core.settings, core.port()),
			// Devices need none, or a different one, if the gateway has none.
			authority: core.certificate?.authority ?? null,
		}),
	});
}
