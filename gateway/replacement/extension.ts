/** One board replaces another: what people have given the old one goes to the new one, and the old one is refused. */

import { Router } from "express";
import { deviceId } from "../../device/protocol/messages.js";
import { object } from "../../device/protocol/schema.js";
import { personOf } from "../access/access.js";
import type { Core, Extension } from "../extension.js";
import { readJson } from "../http/request-body.js";
import { refuseMethod } from "../problem.js";
import { Replacements } from "./replacements.js";

const askedReplacement = object({ by: deviceId });

export function createReplacement(core: Core): Extension {
	const replacements = new Replacements(core);
	const routes = Router({ caseSensitive: true, strict: true });
	routes
		.route("/api/devices/:deviceId/replace")
		.post(core.requirePerson, async (request, response) => {
			const { by } = await readJson(request, askedReplacement, '{"by":"dev-1-d4e5f6"}');
			const { deviceId } = request.params;
			response.json(await replacements.replace(deviceId, by, personOf(request)?.name ?? ""));
		})
		.delete(core.requirePerson, async ({ params: { deviceId } }, response) => {
			await replacements.undo(deviceId);
			response.status(204).end();
		})
		.all(refuseMethod("POST, DELETE"));
	return {
		routes,
		sessions: [replacements.sessions],
		intercept: (message, session) => {
			if (message.type === "control_device") replacements.onCommand(session, message.payload);
			return undefined;
		},
		services: { replacements },
		get readinessProblem() {
			return replacements.readinessProblem;
		},
		open: () => replacements.open(),
		close: () => replacements.close(),
	};
}
