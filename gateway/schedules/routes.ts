/** `/api/schedules` and `/api/quiet-hours`. */

import { type Request, type Response, Router } from "express";
import { personOf, requireAction } from "../access/access.js";
import { askedQuietHours, type QuietHoursList } from "../api/quiet-hours.js";
import { askedSchedule, type Schedule, type ScheduleList } from "../api/schedule.js";
import type { Core } from "../extension.js";
import { readJson, setBody } from "../http/request-body.js";
import { refuseMethod } from "../problem.js";
import type { QuietHoursStore } from "./quiet-hours.js";
import type { Schedules } from "./schedules.js";

/** An announcement may name many devices. */
const maxBytes = 64 << 10;
const scheduleExample =
	'{"at":{"weekly":{"time":"17:50"}},"do":{"announcement":{"text":"We close","targets":{"all":true}}}}';
const quietExample = '{"targets":{"room":"Kitchen"},"from":"22:00","until":"07:00","volume":20}';

export interface TimesRoutesOptions {
	readonly requirePerson: Core["requirePerson"];
	/** IANA name of the gateway's zone. */
	readonly zone: string;
	readonly schedules: Schedules;
	readonly quietHours: QuietHoursStore;
}

export function timesRoutes({ requirePerson, zone, schedules, quietHours }: TimesRoutesOptions): Router {
	const router = Router({ caseSensitive: true, strict: true });
	const send = (response: Response, content: object, status = 200) =>
		response.status(status).set("Cache-Control", "no-store").json(content);
	const nameOf = (request: Request) => personOf(request)?.name ?? "";

	router
		.route("/api/schedules")
		.get(requirePerson, (_request, response) => {
			const list: ScheduleList = { zone, schedules: schedules.list() };
			send(response, list);
		})
		.post(requirePerson, async (request, response) => {
			const { asked, action } = await readSchedule(request, schedules);
			const made = await schedules.create(asked, action, nameOf(request));
			response.set("Location", `/api/schedules/${made.id}`);
			send(response, made, 201);
		})
		.all(refuseMethod("GET, HEAD, POST"));

	router
		.route("/api/schedules/:id")
		.put(requirePerson, async (request, response) => {
			const { id } = request.params;
			requireRight(request, schedules.store.find(id));
			const { asked, action } = await readSchedule(request, schedules);
			send(response, await schedules.change(id, asked, action, nameOf(request)));
		})
		.delete(requirePerson, async (request, response) => {
			const { id } = request.params;
			requireRight(request, schedules.store.find(id));
			await schedules.store.remove(id);
			response.status(204).end();
		})
		.all(refuseMethod("PUT, DELETE"));

	router
		.route("/api/quiet-hours")
		.get(requirePerson, (_request, response) => {
			const list: QuietHoursList = { zone, quietHours: quietHours.list() };
			send(response, list);
		})
		.put(requirePerson, async (request, response) => {
			const asked = await readJson(request, askedQuietHours, quietExample);
			send(response, await quietHours.set(asked, nameOf(request)));
		})
		.all(refuseMethod("GET, HEAD, PUT"));

	router
		.route("/api/quiet-hours/:id")
		.delete(requirePerson, async ({ params: { id } }, response) => {
			await quietHours.store.remove(id);
			response.status(204).end();
		})
		.all(refuseMethod("DELETE"));

	return router;
}

/** @throws {HttpProblem} 400, 403, 422 */
async function readSchedule(request: Request, schedules: Schedules) {
	const asked = await readJson(request, askedSchedule, scheduleExample, maxBytes);
	const action = schedules.check(asked);
	requireRight(request, { do: action });
	setBody(request, { ...asked, do: action });
	return { asked, action };
}

/** What a command needs; all who may use the route may announce. @throws {HttpProblem} 403 */
function requireRight(request: Request, schedule: Pick<Schedule, "do">): void {
	const { command } = schedule.do;
	if (command) requireAction(request, command.payload.command);
}
