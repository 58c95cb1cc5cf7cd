/** Replacement of boards: moves user settings from an old board to a new one and rejects the old one. */

import { replacementRoutes } from "../api/replacement.js";
import type { Core, Extension } from "../extension.js";
import { serve } from "../http/routes.js";
import { Replacements } from "./replacements.js";

export function createReplacement(core: Core): Extension {
	const replacements = new Replacements(core);
	const routes = serve(replacementRoutes, {
		"POST /api/devices/:deviceId/replace": ({ params: { deviceId }, body: { by }, person }) =>
			replacements.replace(deviceId, by, person.name),
		"DELETE /api/devices/:deviceId/replace": ({ params: { deviceId } }) => replacements.undo(deviceId),
	});
	return {
		routes,
		listeners: [replacements.listeners],
		services: { boardReplacements: replacements },
		rejectionOf: (deviceId) => replacements.rejectionOf(deviceId),
		open: () => replacements.open(),
		close: () => replacements.close(),
	};
}
