/** `/api/rollouts`: previews, starts, shows and steers roll-outs. */

import { type Request, type RequestHandler, type Response, Router } from "express";
import { describeProblem, findProblem } from "../../device/protocol/schema.js";
import { countsOf, type DeviceStep, type Rollout } from "../api/rollout.js";
import { readJson } from "../http/request-body.js";
import { anyObject } from "../json.js";
import { HttpProblem, refuseMethod } from "../problem.js";
import { isoTime } from "../sessions/view.js";
import { rolloutCommands } from "./commands.js";
import { rolloutId } from "./entries.js";
import { sizeOf } from "./machine.js";
import type { Rollouts } from "./rollouts.js";

/** A plan may name 10,000 devices. */
const maxPlanBytes = 1 << 20;

export function rolloutRoutes(rollouts: Rollouts, requirePerson: RequestHandler): Router {
	const router = Router({ caseSensitive: true, strict: true });
	const send = (response: Response, rollout: Rollout, status = 200) =>
		response
			.status(status)
			.set({ "Cache-Control": "no-store", ETag: `"${rollout.head.revision}"` })
			.json({ ...describe(rollout), soakSecondsLeft: rollouts.soakSecondsLeft(rollout) });

	router
		.route("/api/rollouts")
		.get(requirePerson, (_request, response) => {
			response.set("Cache-Control", "no-store").json({ rollouts: rollouts.list().map(describeHead) });
		})
		.all(refuseMethod("GET, HEAD"));

	router
		.route("/api/rollouts/preview")
		.post(requirePerson, async (request, response) => {
			response.set("Cache-Control", "no-store").json(await rollouts.preview(await readPlan(request)));
		})
		.all(refuseMethod("POST"));

	router
		.route("/api/rollouts/:id")
		.get(requirePerson, ({ params: { id } }, response) => void send(response, rollouts.find(id)))
		.put(requirePerson, async (request, response) => {
			const { id } = request.params;
			const problem = findProblem(rolloutId, id);
			if (problem) throw new HttpProblem(422, `${describeProblem({ ...problem, path: "The id" })}.`);
			const { rollout, isNew } = await rollouts.put(id, await readPlan(request));
			send(response, rollout, isNew ? 201 : 200);
		})
		.delete(requirePerson, async ({ params: { id } }, response) => {
			await rollouts.remove(id);
			response.status(204).end();
		})
		.all(refuseMethod("GET, HEAD, PUT, DELETE"));

	router
		.route("/api/rollouts/:id/devices")
		.get(requirePerson, ({ params: { id }, query: { status } }, response) => {
			const asked = typeof status === "string" ? status.split(",") : undefined;
			const rollout = rollouts.find(id);
			const steps = [...rollout.devices.values()].filter(({ status }) => asked?.includes(status) ?? true);
			const devices = steps.map((step) => ({
				...describeStep(step),
				soakSecondsLeft: rollouts.soakSecondsLeft(rollout, [step]),
			}));
			response.set("Cache-Control", "no-store").json({ devices });
		})
		.all(refuseMethod("GET, HEAD"));

	for (const command of rolloutCommands)
		router
			.route(`/api/rollouts/:id/${command}`)
			.post(requirePerson, async (request, response) => {
				send(response, await rollouts.execute(String(request.params.id), command, revisionOf(request)));
			})
			.all(refuseMethod("POST"));

	return router;
}

/** @throws {HttpProblem} 400, 422 */
function readPlan(request: Request): Promise<object> {
	const example = '{"firmware":{"version":"1.4.0"},"target":{"model":"DEV-1"}}';
	return readJson(request, anyObject, example, maxPlanBytes);
}

/** Of If-Match; undefined: any. An ETag that is none of ours matches no revision. */
function revisionOf({ headers }: Request): number | undefined {
	const given = headers["if-match"]?.trim();
	if (given === undefined || given === "*") return undefined;
	const [, revision] = /^"(\d+)"$/.exec(given) ?? [];
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
	/** Devices that are or may still be in a group. */
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
