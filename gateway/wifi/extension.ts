/** The Wi-Fi of the fleet: by which access point each device is connected, and how often it has connected again. */

import type { Core, Extension } from "../extension.js";
import { Reconnects } from "./reconnects.js";
import { createWiFiRoutes } from "./routes.js";

export function createWiFi(core: Core): Extension {
	const reconnects = new Reconnects(core);
	return { routes: createWiFiRoutes(core, reconnects), sessions: [reconnects.sessions] };
}
