/** Serves `/api/schedules` and `/api/quiet-hours`. */

import type { Request } from "express";
import { requireAction } from "../access/access.js";
import type { Person } from "../api/person.js";
import { quietHoursRoutes } from "../api/quiet-hours.js";
import { type Schedule, type ScheduleRequest, scheduleRoutes } from "../api/schedule.js";
import { recordChange } from "../http/request-body.js";
import { type Route, serve } from "../http/routes.js";
import type { QuietHoursStore } from "./quiet-hours.js";
import type { Schedules } from "./schedules.js";

export interface TimesRoutesOptions {
	/** IANA name of the gateway's time zone. */
	readonly zone: string;
	readonly schedules: Schedules;
	readonly quietHours: QuietHoursStore;
}

export function timesRoutes({ zone, schedules, quietHours }: TimesRoutesOptions): readonly Route[] {
	/** @throws {RequestError} 403, 422 */
	const checkedAction = (request: Request, person: Person, asked: ScheduleRequest) => {
		const action = schedules.check(asked);
		requireRight(person, { do: action });
		recordChange(request, { after: { ...asked, do: action } });
		return action;
	};
	return [
		...serve(scheduleRoutes, {
			"GET /api/schedules": () => ({ zone, schedules: schedules.list() }),
			"POST /api/schedules": ({ request, person, body }) =>
				schedules.create(body, checkedAction(request, person, body), person.name),
			"PUT /api/schedules/:id": ({ request, person, params: { id }, body }) => {
				requireRight(person, schedules.store.find(id));
				return schedules.change(id, body, checkedAction(request, person, body), person.name);
			},
			"DELETE /api/schedules/:id": async ({ request, person, params: { id } }) => {
				const schedule = schedules.store.find(id);
				requireRight(person, schedule);
				recordChange(request, { before: { name: schedule.name } });
				await schedules.store.remove(id);
			},
		}),
		...serve(quietHoursRoutes, {
			"GET /api/quiet-hours": () => ({ zone, quietHours: quietHours.list() }),
			"PUT /api/quiet-hours": ({ person, body }) => quietHours.set(body, person.name),
			"DELETE /api/quiet-hours/:id": ({ params: { id } }) => quietHours.store.remove(id),
		}),
	];
}

/**
 * Checks the permission for a schedule's command. Announcements need none beyond the route's.
 * @throws {RequestError} 403
 */
function requireRight(person: Person, schedule: Pick<Schedule, "do">): void {
	const { command } = schedule.do;
	if (command) requireAction(person, command.payload.command);
}
