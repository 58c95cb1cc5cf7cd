/** Schedules view: schedules, timers and quiet hours. */

import calendar from "lucide-static/icons/calendar-clock.svg";
import timer from "lucide-static/icons/timer.svg";
import { useState } from "preact/hooks";
import type { RequestBody } from "../../../api/client/request.js";
import { actionText, dueText, lastText, placeText, whenText, zoneText } from "../../../api/client/times.js";
import type { ScheduleList } from "../../../api/schedule.js";
import { viewAddress } from "../app/addresses.js";
import { request, requestIfFound } from "../app/gateway.js";
import { useApp, useNow, useResource, useTopic } from "../app/hooks.js";
import { nameIn } from "../model/filter.js";
import { Button } from "../parts/button.js";
import { EmptyState } from "../parts/empty-state.js";
import { Icon } from "../parts/icon.js";
import { PageHead } from "../parts/page-head.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { QuietHoursPanel } from "./quiet-hours.js";
import { type Draft, ScheduleForm } from "./schedule-form.js";
import { ScheduleRow } from "./schedule-row.js";

const readEveryMs = 5_000;

export function SchedulesView({ search }: { readonly search: string }) {
	const { quietHours } = useApp();
	const [edited, setEdited] = useState<Draft>();
	const list = useResource(() => {
		void quietHours.refresh();
		return requestIfFound("GET /api/schedules");
	}, readEveryMs);
	return (
		<>
			<PageHead title="Schedules">
				{list.value && (
					<Button look="primary" action="play_sound" onClick={() => setEdited({ at: { in: 600 }, do: {} })}>
						<Icon of={timer} />
						New timer
					</Button>
				)}
			</PageHead>
			<div class="column schedules">
				{list.value === null && (
					<EmptyState icon={calendar} title="No schedules">
						Schedules are disabled on this gateway.
					</EmptyState>
				)}
				<Problem>{list.problem}</Problem>
				{list.value && (
					<>
						<p class="hint">{zoneText(list.value.zone)}</p>
						<Schedules
							list={list.value}
							edited={edited}
							onEdit={setEdited}
							onChange={(change) => list.after(change)}
						/>
						<QuietHoursPanel search={search} />
					</>
				)}
			</div>
		</>
	);
}

interface SchedulesProps {
	readonly list: ScheduleList;
	/** Schedule in the form. */
	readonly edited: Draft | undefined;
	readonly onEdit: (edited: Draft | undefined) => void;
	/** Reloads the list after a change. */
	readonly onChange: (change: Promise<unknown>) => Promise<void>;
}

function Schedules({ list: { zone, schedules }, edited, onEdit, onChange }: SchedulesProps) {
	const { fleet } = useTopic("list");
	const now = useNow(1000);
	const sounds = useResource(() => requestIfFound("GET /api/sounds"));
	const save = (id: string | undefined, body: RequestBody<"POST /api/schedules">) =>
		onChange(
			id === undefined
				? request("POST /api/schedules", { body })
				: request("PUT /api/schedules/:id", { params: { id }, body }),
		);
	const soundName = (id: string) => sounds.value?.sounds.find((sound) => sound.id === id)?.name;
	return (
		<Panel
			title="Schedules"
			look="stack"
			actions={
				<Button action="play_sound" onClick={() => onEdit({ at: { weekly: { time: "08:00" } }, do: {} })}>
					New schedule
				</Button>
			}
		>
			{schedules.length === 0 && (
				<EmptyState icon={calendar} title="No schedules yet">
					Create one to announce, play chimes or set the volume at a given time.
				</EmptyState>
			)}
			<ul class="listed" aria-label="Schedules">
				{schedules.map((schedule) => {
					const { id, name, at, do: action, nextAt, last } = schedule;
					const isOn = nextAt !== null;
					const { targets = {} } = action.announcement ?? action.command ?? {};
					const isTimer = at.in !== undefined && isOn;
					const text = actionText(action, soundName);
					const time = whenText(at);
					const chimes = action.command?.payload.command === "play_audio";
					return (
						<ScheduleRow
							key={id}
							icon={at.in === undefined ? calendar : timer}
							title={name ?? (at.in === undefined ? text : time)}
							facts={[
								at.in === undefined || name ? time : !chimes && text,
								placeText(targets, (key) => nameIn(fleet, key)),
								dueText(schedule, now),
							]}
							action="play_sound"
							isOn={isOn}
							onToggle={isTimer ? undefined : () => save(id, { name, at, do: action, on: !isOn })}
							onEdit={() => onEdit(schedule)}
							onDelete={() => onChange(request("DELETE /api/schedules/:id", { params: { id } }))}
						>
							{last && (
								<p class={["failed", "missed"].includes(last.outcome) ? "problem" : "hint"}>
									{lastText(schedule, last, now)}
									{action.announcement && last.job && (
										<>
											{" "}
											<a href={viewAddress("announce")}>Results</a>
										</>
									)}
								</p>
							)}
						</ScheduleRow>
					);
				})}
			</ul>
			{edited && (
				<ScheduleForm
					edited={edited}
					zone={zone}
					sounds={sounds.value ?? { sounds: [], canSpeak: false }}
					onSave={(body) => save(edited.id, body)}
					onClosed={() => onEdit(undefined)}
				/>
			)}
		</Panel>
	);
}
