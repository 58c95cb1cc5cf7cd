/** What an extension that begins jobs is made of: `/api/<channel>`, its frames, and what it shares with other gateways. */

import type { IncomingMessage } from "node:http";
import { type Response, Router } from "express";
import type { Core, Extension } from "../extension.js";
import { sendList } from "../http/list.js";
import { HttpProblem, refuseMethod } from "../problem.js";
import type { Job, JobDescription, Jobs, ShownJobs } from "./jobs.js";
import { SharedJobs } from "./shared-jobs.js";

export interface JobsExtensionOptions<D extends JobDescription, J extends Job<D>> {
	readonly core: Core;
	readonly jobs: Jobs<D, J>;
	/** In the order in which people read them: what needs attention first. */
	readonly states: readonly string[];
	/** @returns the id of a new one @throws {HttpProblem} */
	readonly begin: (request: IncomingMessage) => Promise<string>;
	/** @throws {HttpProblem} if this person may not stop it; default: all that may use the route may */
	readonly checkStop?: (request: IncomingMessage, job: D) => void;
}

export function jobsExtension<D extends JobDescription, J extends Job<D>>(
	options: JobsExtensionOptions<D, J>,
) {
	const { core, jobs } = options;
	const { channel } = jobs.options;
	const { id, bus } = core.peers;
	const shared = bus && new SharedJobs({ peers: { id, bus }, core, jobs });
	const shown: ShownJobs<D> = shared ?? jobs;
	const extension = {
		routes: jobRoutes(options, shown),
		sessions: [jobs.sessions],
		channels: { [channel]: () => jobs.frames() },
		open: async () => shared?.open(),
		close: async () => {
			shared?.close();
			jobs.close();
		},
	} satisfies Extension;
	/** As `JobService.has`. */
	const has = async (job: string) => {
		try {
			return (await shown.find(job)).id === job;
		} catch (error) {
			if (error instanceof HttpProblem) return false;
			throw error;
		}
	};
	return { extension, has };
}

function jobRoutes<D extends JobDescription, J extends Job<D>>(
	{ core, jobs, states, begin, checkStop }: JobsExtensionOptions<D, J>,
	shown: ShownJobs<D>,
): Router {
	const { requirePerson, yieldToLoop } = core;
	const { channel } = jobs.options;
	const path = `/api/${channel}`;
	const order = ({ state }: { readonly state: string }) => states.indexOf(state);
	// A list of 100 would be long with all their devices.
	const headOf = ({ devices: _, ...head }: D) => JSON.stringify(head);
	async function* oneATurn() {
		for await (const job of shown.list()) {
			yield job;
			await yieldToLoop();
		}
	}
	const router = Router({ caseSensitive: true, strict: true });
	const send = (response: Response, content: object, status = 200) =>
		response.status(status).set("Cache-Control", "no-store").json(content);

	router
		.route(path)
		.get(requirePerson, (_request, response) => sendList(response, channel, oneATurn(), headOf, yieldToLoop))
		.post(requirePerson, async (request, response) => {
			const id = await begin(request);
			response.set("Location", `${path}/${id}`);
			send(response, { id }, 202);
		})
		.all(refuseMethod("GET, HEAD, POST"));

	router
		.route(`${path}/:id`)
		.get(requirePerson, async ({ params: { id } }, response) => {
			const job = await shown.find(id);
			send(response, { ...job, devices: job.devices.toSorted((a, b) => order(a) - order(b)) });
		})
		.delete(requirePerson, async (request, response) => {
			const { id } = request.params;
			checkStop?.(request, await shown.find(id));
			await shown.stop(id);
			response.status(204).end();
		})
		.all(refuseMethod("GET, HEAD, DELETE"));

	return router;
}
