/** Serves `/api/rollouts`: preview, create, list and control. */

import type { Request, Response } from "express";
import { describeProblem, findProblem } from "../../device/protocol/schema.js";
import { countsOf, type DeviceStep, type Rollout, rolloutId, rolloutRoutes } from "../api/rollout.js";
import { type Route, serve } from "../http/routes.js";
import { RequestError } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import type { RolloutCommand } from "./commands.js";
import { sizeOf } from "./machine.js";
import type { Rollouts } from "./rollouts.js";

export function createRolloutRoutes(rollouts: Rollouts): readonly Route[] {
	const show = (response: Response, rollout: Rollout) => {
		response.set("ETag", `"${rollout.head.revision}"`);
		const { retrying, retryAt } = rollouts.retriesOf(rollout);
		return {
			...describe(rollout),
			soakSecondsLeft: rollouts.soakSecondsLeft(rollout),
			retrying,
			retryAt: retryAt === null ? null : isoTime(retryAt),
		};
	};
	const execute = (command: RolloutCommand) => async (context: CommandContext) => {
		const { params, request, response } = context;
		return show(response, await rollouts.execute(params.id, command, revisionOf(request)));
	};
	return serve(rolloutRoutes, {
		"GET /api/rollouts": () => ({ rollouts: rollouts.list().map(describeHead) }),
		"POST /api/rollouts/preview": ({ body }) => rollouts.preview(body),
		"GET /api/rollouts/:id": ({ params: { id }, response }) => show(response, rollouts.find(id)),
		"PUT /api/rollouts/:id": async ({ params: { id }, body, response }) => {
			const problem = findProblem(rolloutId, id);
			if (problem) throw new RequestError(422, `${describeProblem({ ...problem, path: "The id" })}.`);
			const { rollout, isNew } = await rollouts.put(id, body);
			response.status(isNew ? 201 : 200);
			return show(response, rollout);
		},
		"DELETE /api/rollouts/:id": ({ params: { id } }) => rollouts.remove(id),
		"GET /api/rollouts/:id/devices": ({ params: { id }, query: { status } }) => {
			const asked = status?.split(",");
			const rollout = rollouts.find(id);
			const steps = [...rollout.devices.values()].filter((step) => asked?.includes(step.status) ?? true);
			return {
				devices: steps.map((step) => ({
					...describeStep(step),
					soakSecondsLeft: rollouts.soakSecondsLeft(rollout, [step]),
				})),
			};
		},
		"POST /api/rollouts/:id/pause": execute("pause"),
		"POST /api/rollouts/:id/resume": execute("resume"),
		"POST /api/rollouts/:id/approve": execute("approve"),
		"POST /api/rollouts/:id/cancel": execute("cancel"),
		"POST /api/rollouts/:id/retry": execute("retry"),
	});
}

interface CommandContext {
	readonly params: { readonly id: string };
	readonly request: Request;
	readonly response: Response;
}

/** Returns the revision in If-Match, or undefined for any. An unknown ETag matches no revision. */
function revisionOf({ headers }: Request): number | undefined {
	const etag = headers["if-match"]?.trim();
	if (etag === undefined || etag === "*") return undefined;
	const [, revision] = /^"(\d+)"$/.exec(etag) ?? [];
	return Number(revision ?? -1);
}

function describeHead({ id, createdAt, plan, head, devices }: Rollout) {
	const { status, pausedBecause, revision, startedAt, endedAt } = head;
	return {
		id,
		status,
		pausedBecause: pausedBecause ?? null,
		version: plan.firmware.version,
		standing: plan.standing,
		counts: countsOf(devices.values()),
		revision,
		createdAt: isoTime(createdAt),
		startedAt: startedAt === undefined ? null : isoTime(startedAt),
		endedAt: endedAt === undefined ? null : isoTime(endedAt),
	};
}

function describe(rollout: Rollout) {
	const { plan, head, devices } = rollout;
	const steps = [...devices.values()];
	/** Number of devices that are or may still be in a group. */
	let left = steps.filter((step) => step.group !== undefined || step.status === "queued").length;
	const groups = plan.groups.map((group, index) => {
		const members = steps.filter((step) => step.group === index);
		const size = index < head.group ? members.length : Math.min(sizeOf(group, steps), left);
		left -= size;
		return { size, counts: countsOf(members) };
	});
	return { ...describeHead(rollout), plan, group: head.group, groups };
}

function describeStep({ deviceId, status, at, attempts, group, reason }: DeviceStep) {
	return { deviceId, status, at: isoTime(at), attempts, group: group ?? null, reason: reason ?? null };
}
