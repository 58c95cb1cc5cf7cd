/** Schedules view: schedules, timers and quiet hours. */

import { useState } from "preact/hooks";
import type { RequestBody } from "../../../api/client/request.js";
import { actionText, dueText, lastText, placeText, whenText, zoneText } from "../../../api/client/times.js";
import type { ScheduleList } from "../../../api/schedule.js";
import { request, requestIfFound } from "../app/gateway.js";
import { announceAddress, useApp, useNow, useResource, useTopic } from "../app/hooks.js";
import { nameIn } from "../model/filter.js";
import { Button } from "../parts/button.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { QuietHoursPanel } from "./quiet-hours.js";
import { type Draft, ScheduleForm } from "./schedule-form.js";
import { ScheduleRow } from "./schedule-row.js";

const readEveryMs = 5_000;

export function SchedulesView({ search }: { readonly search: string }) {
	const { quietHours } = useApp();
	const list = useResource(() => {
		void quietHours.refresh();
		return requestIfFound("GET /api/schedules");
	}, readEveryMs);
	return (
		<div class="column times">
			<h1>Schedules</h1>
			{list.value === null && <p class="empty">Schedules are disabled on this gateway.</p>}
			<Problem>{list.problem}</Problem>
			{list.value && (
				<>
					<p class="hint">{zoneText(list.value.zone)}</p>
					<Schedules list={list.value} onChanged={() => list.refresh()} />
					<QuietHoursPanel search={search} />
				</>
			)}
		</div>
	);
}

interface SchedulesProps {
	readonly list: ScheduleList;
	readonly onChanged: () => Promise<void>;
}

function Schedules({ list: { zone, schedules }, onChanged }: SchedulesProps) {
	const { fleet } = useTopic("list");
	const now = useNow(1000);
	const sounds = useResource(() => requestIfFound("GET /api/sounds"));
	const [edited, setEdited] = useState<Draft>();
	const save = async (id: string | undefined, body: RequestBody<"POST /api/schedules">) => {
		await (id === undefined
			? request("POST /api/schedules", { body })
			: request("PUT /api/schedules/:id", { params: { id }, body }));
		await onChanged();
	};
	const remove = async (id: string) => {
		await request("DELETE /api/schedules/:id", { params: { id } });
		await onChanged();
	};
	const soundName = (id: string) => sounds.value?.sounds.find((sound) => sound.id === id)?.name;
	return (
		<Panel title="Schedules" look="stack">
			{schedules.length === 0 && (
				<p class="hint">
					No schedules yet. Create one to announce, play chimes or send commands at a given time.
				</p>
			)}
			<ul class="listed" aria-label="Schedules">
				{schedules.map((schedule) => {
					const { id, name, at, do: action, nextAt, last } = schedule;
					const isOn = nextAt !== null;
					const { targets = {} } = action.announcement ?? action.command ?? {};
					const isTimer = at.in !== undefined && isOn;
					return (
						<ScheduleRow
							key={id}
							title={name ?? actionText(action, soundName)}
							facts={[
								whenText(at),
								schedule.zone !== zone && schedule.zone,
								placeText(targets, (key) => nameIn(fleet, key)),
								dueText(schedule, now),
							]}
							action="play_sound"
							isOn={isOn}
							onToggle={isTimer ? undefined : () => save(id, { name, at, do: action, on: !isOn })}
							onEdit={() => setEdited(schedule)}
							onDelete={() => remove(id)}
						>
							{last && (
								<p class={["failed", "missed"].includes(last.outcome) ? "problem" : "hint"}>
									{lastText(schedule, last, now)}
									{action.announcement && last.job && (
										<>
											{" "}
											<a href={announceAddress()}>Results</a>
										</>
									)}
								</p>
							)}
						</ScheduleRow>
					);
				})}
			</ul>
			<div class="actions">
				<Button action="play_sound" onClick={() => setEdited({ at: { weekly: { time: "08:00" } }, do: {} })}>
					New schedule…
				</Button>
				<Button action="play_sound" onClick={() => setEdited({ at: { in: 12 * 60 }, do: {} })}>
					New timer…
				</Button>
			</div>
			{edited && (
				<ScheduleForm
					given={edited}
					zone={zone}
					sounds={sounds.value ?? { sounds: [], canSpeak: false }}
					onSave={(body) => save(edited.id, body)}
					onClosed={() => setEdited(undefined)}
				/>
			)}
		</Panel>
	);
}
