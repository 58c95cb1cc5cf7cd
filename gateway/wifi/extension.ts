/** The Wi-Fi of the fleet: by which access point each device is connected, and how often it has connected again. */

import type { Core, Extension } from "../extension.js";
import { Reconnects } from "./reconnects.js";
import { wifiRoutes } from "./routes.js";

export function createWiFi(core: Core): Extension {
	const reconnects = new Reconnects(core);
	return { routes: wifiRoutes(core, reconnects), sessions: [reconnects.sessions] };
}
