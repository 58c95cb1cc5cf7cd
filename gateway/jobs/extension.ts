/** Base of extensions that run jobs: routes, frames, and sharing with other gateways. */

import type { Response } from "express";
import type { Person } from "../api/person.js";
import type { Core, Extension } from "../extension.js";
import { sendList } from "../http/list.js";
import { streamed } from "../http/routes.js";
import { RequestError } from "../problem.js";
import type { Job, JobDescription, Jobs, ShownJobs } from "./jobs.js";
import { SharedJobs } from "./shared-jobs.js";

export interface JobsExtensionOptions<D extends JobDescription, J extends Job<D>> {
	readonly core: Core;
	readonly jobs: Jobs<D, J>;
	/** In display order: failures first. */
	readonly states: readonly string[];
	/** @throws {RequestError} if a person may not stop a job. Default: everyone with access to the route may. */
	readonly checkStop?: (person: Person, job: D) => void;
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
		listeners: [jobs.listeners],
		channels: { [channel]: () => jobs.frames() },
		open: async () => shared?.open(),
		close: async () => {
			shared?.close();
			jobs.close();
		},
	} satisfies Extension;
	/** Implements `JobService.has`. */
	const has = async (job: string) => {
		try {
			return (await shown.find(job)).id === job;
		} catch (error) {
			if (error instanceof RequestError) return false;
			throw error;
		}
	};
	return { extension, has, handlers: jobHandlers(options, shown) };
}

/** Handlers of `GET`, `GET …/:id` and `DELETE …/:id`. */
function jobHandlers<D extends JobDescription, J extends Job<D>>(
	{ core, jobs, states, checkStop }: JobsExtensionOptions<D, J>,
	shown: ShownJobs<D>,
) {
	const { yieldToLoop } = core;
	const { channel } = jobs.options;
	const order = ({ state }: { readonly state: string }) => states.indexOf(state);
	// Omits the devices, as a list of 100 jobs would be too long.
	const headOf = ({ devices: _, ...head }: D) => JSON.stringify(head);
	async function* oneATurn() {
		for await (const job of shown.list()) {
			yield job;
			await yieldToLoop();
		}
	}
	return {
		list: async ({ response }: { readonly response: Response }): Promise<typeof streamed> => {
			await sendList(response, channel, oneATurn(), headOf, yieldToLoop);
			return streamed;
		},
		show: async ({ params: { id } }: WithId) => {
			const job = await shown.find(id);
			return { ...job, devices: job.devices.toSorted((a, b) => order(a) - order(b)) };
		},
		stop: async ({ params: { id }, person }: WithId & { readonly person: Person }): Promise<undefined> => {
			checkStop?.(person, await shown.find(id));
			await shown.stop(id);
		},
	};
}

interface WithId {
	readonly params: { readonly id: string };
}
