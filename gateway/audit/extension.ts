/** The audit: who has changed what. */

import { Router } from "express";
import type { ChangeList } from "../api/audit.js";
import type { Core, Extension } from "../extension.js";
import { refuseMethod } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import { Audit } from "./audit.js";

export function createAudit({ openLog, now, log, requirePerson }: Core): Extension {
	const onProblem = (problem: string) => log.warn({ problem }, "audit");
	const audit = new Audit({ openLog: () => openLog("audit", onProblem), now, onProblem });
	const routes = Router({ caseSensitive: true, strict: true });
	routes
		.route("/api/audit")
		.get(requirePerson, (_request, response) => {
			const changes = audit.list().map(({ at, who, address, deviceId = null, what, detail = null }) => {
				return { at: isoTime(at), who, address, deviceId, what, detail };
			});
			const list: ChangeList = { changes };
			response.set("Cache-Control", "no-store").json(list);
		})
		.all(refuseMethod("GET, HEAD"));
	return {
		routes,
		onEvent: (event) => {
			if (event.type === "change") audit.add(event.change);
		},
		open: async () => audit.write(),
		close: () => audit.close(),
	};
}
