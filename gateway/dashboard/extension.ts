/** Dashboard: its files, login with a cookie, and settings for installing firmware on a new board. */

import type { Core, Extension } from "../extension.js";
import { createLoginRoutes } from "../http/login.js";
import { bundlePage } from "./bundle.js";
import { createDeviceSetupRoutes } from "./device-setup.js";
import { createPages } from "./pages.js";

/** @param pageEntry entry file of the page; default: page/main.tsx */
export function createDashboard(core: Core, pageEntry?: string): Extension {
	const bundled = () => bundlePage(pageEntry);
	const loginPage = async () => (await bundled()).loginPage;
	return {
		routes: [...createLoginRoutes(core.access, loginPage), ...createDeviceSetupRoutes(core)],
		pages: createPages(bundled),
	};
}
