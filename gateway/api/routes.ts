/** All HTTP routes of the gateway: for the OpenAPI document and the typed client. */

import { announcementRoutes, soundRoutes } from "./announcement.js";
import { auditRoutes } from "./audit.js";
import { backupRoutes } from "./backup.js";
import { commandRoutes } from "./command.js";
import { crashRoutes } from "./crash-causes.js";
import { deviceRoutes } from "./device.js";
import { deviceSetupRoutes } from "./device-setup.js";
import { binaryRoutes, firmwareRoutes } from "./firmware.js";
import { healthRoutes } from "./health.js";
import { issueRoutes } from "./issues.js";
import { loginRoutes, tokenRoutes } from "./login.js";
import { quietHoursRoutes } from "./quiet-hours.js";
import { replacementRoutes } from "./replacement.js";
import { rolloutRoutes } from "./rollout.js";
import type { RouteTable } from "./route.js";
import { scheduleRoutes } from "./schedule.js";
import { webhookRoutes } from "./webhook.js";
import { wifiRoutes } from "./wifi.js";

/** In the order of the OpenAPI document. */
const tables = [
	healthRoutes,
	firmwareRoutes,
	binaryRoutes,
	loginRoutes,
	tokenRoutes,
	deviceRoutes,
	crashRoutes,
	issueRoutes,
	replacementRoutes,
	wifiRoutes,
	deviceSetupRoutes,
	soundRoutes,
	announcementRoutes,
	commandRoutes,
	scheduleRoutes,
	quietHoursRoutes,
	rolloutRoutes,
	auditRoutes,
	backupRoutes,
	webhookRoutes,
] as const;
export const routeTables: readonly { readonly extension: string | null; readonly routes: RouteTable }[] =
	tables;

type Intersection<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void
	? I
	: never;
/** Definition of each route, by its name. */
export type Routes = Intersection<(typeof tables)[number]["routes"]>;
/** Routes whose requests are in the audit log. */
export type AuditedRoute = {
	[N in keyof Routes]: Routes[N] extends { readonly roles: null } | { readonly isAudited: false }
		? never
		: Routes[N] extends { readonly isAudited: true }
			? N
			: N extends `GET ${string}`
				? never
				: N;
}[keyof Routes];
