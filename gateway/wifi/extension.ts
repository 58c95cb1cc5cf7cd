/** Wi-Fi of the fleet: access point and number of reconnects of each device. */

import type { Core, Extension } from "../extension.js";
import { Reconnects } from "./reconnects.js";
import { createWiFiRoutes } from "./routes.js";

export function createWiFi(core: Core): Extension {
	const reconnects = new Reconnects(core);
	return { routes: createWiFiRoutes(core, reconnects), listeners: [reconnects.listeners] };
}
