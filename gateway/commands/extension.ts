/** Commands to many devices: one of them, those of a room, or all. The gateway carries them out, so that no page needs to stay open. */

import type { IncomingMessage } from "node:http";
import { personOf, requireAction } from "../access/access.js";
import { askedCommand } from "../api/command.js";
import { commandStates } from "../api/statuses.js";
import { maxTargetsBytes } from "../api/targets.js";
import type { Core, Extension } from "../extension.js";
import { readJson, setBody } from "../http/request-body.js";
import { jobRoutes } from "../jobs/routes.js";
import { SharedJobs } from "../jobs/shared-jobs.js";
import { readAsk } from "./ask.js";
import { Commands } from "./commands.js";

const example = '{"targets":{"room":"Kitchen"},"payload":{"command":"set_volume","value":40}}';

export function createCommands(core: Core): Extension {
	const commands = new Commands(core);
	const { jobs } = commands;
	const stop = (id: string) => commands.stop(id);
	const shared = core.peers && new SharedJobs({ peers: core.peers, core, jobs, stop });
	const begin = async (request: IncomingMessage) => {
		const { targets, payload } = await readJson(request, askedCommand, example, maxTargetsBytes);
		const ask = readAsk(payload);
		requireAction(request, ask.command);
		setBody(request, { targets, payload: ask });
		return commands.begin(targets, ask, personOf(request)?.name ?? "");
	};
	return {
		routes: jobRoutes({
			channel: "commands",
			states: commandStates,
			shown: shared ?? { list: () => jobs.list(), find: (id) => jobs.find(id), stop },
			begin,
			checkStop: (request, { payload }) => requireAction(request, payload.command),
			// A list of 100 would be long with all their devices.
			listed: ({ devices: _, ...head }) => head,
			requirePerson: core.requirePerson,
			yieldToLoop: core.yieldToLoop,
		}),
		sessions: [commands.sessions],
		channels: { commands: () => jobs.frames() },
		open: async () => shared?.open(),
		close: async () => {
			shared?.close();
			commands.close();
		},
	};
}
