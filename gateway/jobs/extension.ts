/** Base of extensions that run jobs: routes, frames, and sharing with other gateways. */

import type { Response } from "express";
import type { Person } from "../api/person.js";
import type { Core, Extension } from "../extension.js";
import { sendList } from "../http/list.js";
import { streamed } from "../http/routes.js";
import type { Described, Job, JobDescription, Jobs } from "./jobs.js";
import { SharedJobs } from "./shared-jobs.js";

export interface JobsExtensionOptions<D extends JobDescription, J extends Job<D>> {
	readonly core: Core;
	readonly jobs: Jobs<D, J>;
	/** In display order: failures first. */
	readonly states: readonly string[];
	/** @throws {RequestError} if a person may not stop a job. Default: everyone with access to the route may. */
	readonly checkStop?: (person: Person, job: Described<D>) => void;
}

interface WithId {
	readonly params: { readonly id: string };
}

export function jobsExtension<D extends JobDescription, J extends Job<D>>({
	core,
	jobs,
	states,
	checkStop,
}: JobsExtensionOptions<D, J>) {
	const { channel } = jobs.options;
	const shared = new SharedJobs(core, jobs);
	const extension = {
		listeners: [jobs.listeners],
		channels: { [channel]: () => jobs.frames() },
		open: async () => shared.open(),
		close: async () => {
			shared.close();
			jobs.close();
		},
	} satisfies Extension;
	/** Implements `JobService.has`. */
	const has = async (job: string) => (await shared.find(job).catch(() => undefined)) !== undefined;
	const order = ({ state }: { readonly state: string }) => states.indexOf(state);
	/** Handlers of `GET`, `GET …/:id` and `DELETE …/:id`. */
	const handlers = {
		list: async ({ response }: { readonly response: Response }): Promise<typeof streamed> => {
			await sendList(response, channel, await shared.list(), JSON.stringify, core.yieldToLoop);
			return streamed;
		},
		show: async ({ params: { id } }: WithId) => {
			const job = await shared.find(id);
			return { ...job, devices: job.devices.toSorted((a, b) => order(a) - order(b)) };
		},
		stop: async ({ params: { id }, person }: WithId & { readonly person: Person }): Promise<undefined> => {
			checkStop?.(person, await shared.find(id));
			await shared.stop(id);
		},
	};
	return { extension, has, handlers };
}
