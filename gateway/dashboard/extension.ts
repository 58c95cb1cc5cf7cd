/** Dashboard: its files, login with a cookie, and settings for installing firmware on a new board. */

import type { Core, Extension } from "../extension.js";
import { createLoginRoutes } from "../http/login.js";
import { deviceAddresses } from "../http/server.js";
import { bundlePage } from "./bundle.js";
import { createDeviceSetupRoutes } from "./device-setup.js";
import { createPages } from "./pages.js";

/** @param pageEntry entry file of the page; default: page/main.tsx */
export function createDashboard(core: Core, pageEntry?: string): Extension {
	const { access, tokens, settings, port } = core;
	const pages = createPages(() => bundlePage(pageEntry));
	return {
		routes: [
			...createLoginRoutes(access, pages.loginPage),
			...createDeviceSetupRoutes({
				deviceToken: () => tokens.current("device"),
				addresses: () => deviceAddresses(settings, port()),
				authority: () => core.certificate?.authority,
			}),
		],
		pages: pages.router,
	};
}
