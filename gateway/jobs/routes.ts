/** `/api/<channel>`: begins, lists, shows and stops jobs. */

import type { IncomingMessage } from "node:http";
import { type RequestHandler, type Response, Router } from "express";
import { sendList } from "../http/list.js";
import { refuseMethod } from "../problem.js";
import type { JobDescription } from "./jobs.js";
import type { ShownJobs } from "./shared-jobs.js";

interface Shown extends JobDescription {
	readonly devices: readonly { readonly state: string }[];
}

export interface JobRoutesOptions<D extends Shown> {
	/** The last part of the path. */
	readonly channel: string;
	/** In the order in which people read them: what needs attention first. */
	readonly states: readonly string[];
	readonly shown: ShownJobs<D>;
	/** @returns the id of a new one @throws {HttpProblem} */
	readonly begin: (request: IncomingMessage) => Promise<string>;
	/** @throws {HttpProblem} if this person may not stop it; default: all that may use the route may */
	readonly checkStop?: (request: IncomingMessage, job: D) => void;
	/** As a list has it; default: whole. */
	readonly listed?: (job: D) => object;
	readonly requirePerson: RequestHandler;
	readonly yieldToLoop: () => Promise<void>;
}

export function jobRoutes<D extends Shown>(options: JobRoutesOptions<D>): Router {
	const { channel, states, shown, begin, checkStop, requirePerson, yieldToLoop } = options;
	const path = `/api/${channel}`;
	const order = ({ state }: { readonly state: string }) => states.indexOf(state);
	const sorted = (job: D) => ({ ...job, devices: job.devices.toSorted((a, b) => order(a) - order(b)) });
	const { listed = sorted } = options;
	async function* oneATurn(jobs: ReturnType<typeof shown.list>) {
		for await (const job of jobs) {
			yield job;
			await yieldToLoop();
		}
	}
	const router = Router({ caseSensitive: true, strict: true });
	const send = (response: Response, content: object, status = 200) =>
		response.status(status).set("Cache-Control", "no-store").json(content);

	router
		.route(path)
		.get(requirePerson, (_request, response) =>
			sendList(response, channel, oneATurn(shown.list()), (job) => JSON.stringify(listed(job)), yieldToLoop),
		)
		.post(requirePerson, async (request, response) => {
			const id = await begin(request);
			response.set("Location", `${path}/${id}`);
			send(response, { id }, 202);
		})
		.all(refuseMethod("GET, HEAD, POST"));

	router
		.route(`${path}/:id`)
		.get(requirePerson, async ({ params: { id } }, response) => {
			send(response, sorted(await shown.find(id)));
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
