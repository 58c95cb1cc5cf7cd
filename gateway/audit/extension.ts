/** Audit log: what people have changed. */

import { auditRoutes } from "../api/audit.js";
import type { Core, Extension } from "../extension.js";
import { serve } from "../http/routes.js";
import { isoTime } from "../sessions/view.js";
import { Audit } from "./audit.js";

export function createAudit({ openLog, now, log }: Core): Extension {
	const onProblem = (problem: string) => log.warn({ problem }, "audit");
	const audit = new Audit({ openLog: () => openLog("audit", onProblem), now, onProblem });
	const routes = serve(auditRoutes, {
		"GET /api/audit": () => ({
			changes: audit.list().map(({ at, deviceId = null, ...change }) => {
				return { ...change, at: isoTime(at), deviceId };
			}),
		}),
	});
	return {
		routes,
		listeners: [{ changed: (change) => audit.add(change) }],
		open: async () => audit.write(),
		close: () => audit.close(),
	};
}
