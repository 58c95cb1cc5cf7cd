/** Commands to many devices: one of them, those of a room, or all. The gateway carries them out, so that no page needs to stay open. */

import type { IncomingMessage } from "node:http";
import { describeProblem, findProblem, isRecord, matches } from "../../device/protocol/schema.js";
import { personOf, requireAction } from "../access/access.js";
import { type Ask, type AskName, askedCommand, asks } from "../api/command.js";
import { commandStates } from "../api/statuses.js";
import { maxTargetsBytes } from "../api/targets.js";
import type { Core, Extension, Services } from "../extension.js";
import { readJson, requireValid, setBody } from "../http/request-body.js";
import { jobsExtension } from "../jobs/extension.js";
import { pick } from "../json.js";
import { HttpProblem } from "../problem.js";
import { Commands } from "./commands.js";

const example = '{"targets":{"room":"Kitchen"},"payload":{"command":"set_volume","value":40}}';

export function createCommands(core: Core): Extension {
	const commands = new Commands(core);
	const begin = async (request: IncomingMessage) => {
		const { targets, payload } = await readJson(request, askedCommand, example, maxTargetsBytes);
		const ask = readAsk(payload);
		requireAction(request, ask.command);
		setBody(request, { targets, payload: ask });
		return commands.begin(targets, ask, { by: personOf(request)?.name ?? null });
	};
	const check = (asked: unknown) => {
		const { targets, payload } = requireValid(askedCommand, pick(askedCommand, asked));
		commands.jobs.devicesOf(targets);
		return { targets, payload: readAsk(payload) };
	};
	const { extension, has } = jobsExtension({
		core,
		jobs: commands.jobs,
		states: commandStates,
		begin,
		checkStop: (request, { payload }) => requireAction(request, payload.command),
	});
	const service: Services["commands"] = {
		check,
		begin: async (asked, beginning) => {
			const { targets, payload } = check(asked);
			return commands.begin(targets, payload, beginning);
		},
		has,
	};
	return { ...extension, services: { commands: service } };
}

/** @throws {HttpProblem} 422 */
function readAsk(payload: unknown): Ask {
	const name = isRecord(payload) ? payload.command : undefined;
	if (typeof name !== "string" || !isAskName(name))
		throw new HttpProblem(422, `payload: command must be one of ${Object.keys(asks).join(", ")}.`);
	const picked = pick(asks[name], payload);
	if (matches(asks[name], picked)) return picked;
	throw new HttpProblem(422, `payload: ${name}: ${describeProblem(findProblem(asks[name], picked))}.`);
}

function isAskName(name: string): name is AskName {
	return Object.hasOwn(asks, name);
}
