/** The page: its files, login with a cookie, and what it needs to install firmware on a new board. */

import { Router } from "express";
import { loginRouter } from "../access/login.js";
import { deviceTokenOf } from "../access/secrets.js";
import type { Core, Extension } from "../extension.js";
import { deviceAddresses } from "../http/server.js";
import { bundlePage } from "./bundle.js";
import { deviceSetupRoutes } from "./device-setup.js";
import { dashboardRoutes } from "./routes.js";

/** @param pageEntry the file that starts the page; default: page/main.tsx */
export function createDashboard(core: Core, pageEntry?: string): Extension {
	const { access, tokens, settings, requirePerson, port } = core;
	const deviceToken = () => tokens.current("device");
	const dashboard = dashboardRoutes({ access, deviceToken, makeBundle: () => bundlePage(pageEntry) });
	const setup = deviceSetupRoutes({
		requirePerson,
		tokenOf: (deviceId) => deviceTokenOf(deviceToken(), deviceId),
		addresses: () => deviceAddresses(settings, port()),
		authority: () => core.certificate?.authority,
	});
	return { routes: Router().use(loginRouter(access, dashboard.loginPage), setup, dashboard.router) };
}
