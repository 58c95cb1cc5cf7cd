/** The audit: who has changed what. */

import { join } from "node:path";
import { Router } from "express";
import type { ChangeList } from "../api/audit.js";
import type { Core, Extension } from "../extension.js";
import { refuseMethod } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import { FileLog } from "../storage/file-log.js";
import { Audit } from "./audit.js";

export function createAudit({ settings, disk, peers, now, log, requirePerson }: Core): Extension {
	const onProblem = (problem: string) => log.warn({ problem }, "audit");
	const directory = join(settings.dataDir, "audit");
	const openLog = async () =>
		(await peers?.bus.log("gw-audit")) ?? new FileLog({ directory, disk, onProblem });
	const audit = new Audit({ openLog, now, onProblem });
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
		onChange: (change) => audit.add(change),
		open: async () => audit.write(),
		close: () => audit.close(),
	};
}
