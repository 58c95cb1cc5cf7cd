/** Commands to many devices, such as those of a room or all. They run on the gateway, so no page has to stay open. */

import {
	describeProblem,
	entryOf,
	findProblem,
	isRecord,
	keysOf,
	matches,
} from "../../device/protocol/schema.js";
import { requireAction } from "../access/access.js";
import { commandRequest, commandRoutes, confirmableCommands } from "../api/command.js";
import type { ConfirmableCommand } from "../api/commands.js";
import { pick } from "../api/json.js";
import { commandStates } from "../api/statuses.js";
import type { Core, Extension } from "../extension.js";
import { recordChange, requireValid } from "../http/request-body.js";
import { serve } from "../http/routes.js";
import { jobsExtension } from "../jobs/extension.js";
import { RequestError } from "../problem.js";
import { Commands } from "./commands.js";

export function createCommands(core: Core): Extension {
	const commands = new Commands(core);
	const check = (request: unknown) => {
		const { targets, payload } = requireValid(commandRequest, pick(commandRequest, request));
		commands.jobs.devicesOf(targets);
		return { targets, payload: readAsk(payload) };
	};
	const { extension, has, handlers } = jobsExtension({
		core,
		jobs: commands.jobs,
		states: commandStates,
		checkStop: (person, { payload }) => requireAction(person, payload.command),
	});
	const routes = serve(commandRoutes, {
		"GET /api/commands": handlers.list,
		"POST /api/commands": async ({ request, person, body: { targets, payload } }) => {
			const ask = readAsk(payload);
			requireAction(person, ask.command);
			const { command, ...values } = ask;
			recordChange(request, { what: command, after: { targets, ...values } });
			return { id: await commands.begin(targets, ask, { by: person.name }) };
		},
		"GET /api/commands/:id": handlers.show,
		"DELETE /api/commands/:id": handlers.stop,
	});
	return {
		...extension,
		routes,
		services: {
			commandJobs: {
				check,
				begin: async (request, beginning) => {
					const { targets, payload } = check(request);
					return commands.begin(targets, payload, beginning);
				},
				has,
			},
		},
	};
}

/** @throws {RequestError} 422 */
function readAsk(payload: unknown): ConfirmableCommand {
	const name = isRecord(payload) && typeof payload.command === "string" ? payload.command : "";
	const schema = entryOf(confirmableCommands, name);
	if (!schema)
		throw new RequestError(422, `payload: command must be one of ${keysOf(confirmableCommands).join(", ")}.`);
	const picked = pick(schema, payload);
	if (matches(schema, picked)) return picked;
	throw new RequestError(422, `payload: ${name}: ${describeProblem(findProblem(schema, picked))}.`);
}
