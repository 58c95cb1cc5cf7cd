/** Quiet hours in the schedules view: list and form. */

import moon from "lucide-static/icons/moon.svg";
import { useState } from "preact/hooks";
import type { RequestBody } from "../../../api/client/request.js";
import { weekdays } from "../../../api/client/rollout-plan.js";
import { asTargets, placeText, quietText, usualQuietHours } from "../../../api/client/times.js";
import { clock, plural } from "../../../api/client/words.js";
import type { QuietHours, QuietHoursRequest } from "../../../api/quiet-hours.js";
import type { Targets } from "../../../api/targets.js";
import { targetsIn } from "../app/addresses.js";
import { request } from "../app/gateway.js";
import { useDenial, useTopic } from "../app/hooks.js";
import { nameIn } from "../model/filter.js";
import { Button } from "../parts/button.js";
import { Check, Days, Field } from "../parts/field.js";
import { FormDialog } from "../parts/form-dialog.js";
import { Limit } from "../parts/limit.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { TargetChoice } from "../parts/target-choice.js";
import { ScheduleRow } from "./schedule-row.js";

/** Undefined equals absent. */
type Draft = Omit<QuietHoursRequest, "volume" | "brightness"> & {
	readonly [F in "volume" | "brightness"]?: number | undefined;
};

/** @param search query of the address, which opens the form for a room or device */
export function QuietHoursPanel({ search }: { readonly search: string }) {
	const { quietHours, fleet } = useTopic("quiet", "list");
	const denial = useDenial("set_quiet");
	const initial = targetsIn(search);
	const [edited, setEdited] = useState(() => initial && asQuietTargets(initial));
	const { value, problem } = quietHours;
	const old = fleet
		.all()
		.filter(({ session: { connected, features } }) => connected && !features.includes("quiet")).length;
	const save = (body: RequestBody<"PUT /api/quiet-hours">) =>
		quietHours.after(request("PUT /api/quiet-hours", { body }));
	return (
		<Panel
			title="Quiet hours"
			look="stack"
			actions={
				<Button action="set_quiet" onClick={() => setEdited({ all: true })}>
					Set quiet hours
				</Button>
			}
		>
			<Problem>{problem}</Problem>
			<p class="hint">
				Device settings override room and home.
				{old > 0 && ` ${plural(old, "device")} must be updated to support quiet hours.`}
			</p>
			<ul class="listed" aria-label="Quiet hours">
				{value?.quietHours.map((hours) => {
					const { id, targets, on, zone, holdsUntil } = hours;
					return (
						<ScheduleRow
							key={id}
							icon={moon}
							title={placeText(asTargets(targets), (key) => nameIn(fleet, key))}
							facts={[
								quietText(hours),
								!on && "Off",
								holdsUntil !== null && `Active until ${clock(Date.parse(holdsUntil) / 1000, zone)}`,
							]}
							action="set_quiet"
							isOn={on}
							onToggle={() => save({ ...bodyOf(hours), on: !on })}
							onEdit={() => setEdited(targets)}
							onDelete={() => quietHours.after(request("DELETE /api/quiet-hours/:id", { params: { id } }))}
						/>
					);
				})}
			</ul>
			{edited && value && !denial && (
				<QuietForm
					initial={edited}
					all={value.quietHours}
					onSave={save}
					onClosed={() => setEdited(undefined)}
				/>
			)}
		</Panel>
	);
}

interface QuietFormProps {
	readonly initial: QuietHours["targets"];
	readonly all: readonly QuietHours[];
	readonly onSave: (body: RequestBody<"PUT /api/quiet-hours">) => Promise<void>;
	readonly onClosed: () => void;
}

/** Form that changes the quiet hours of a target, or adds them. */
function QuietForm({ initial, all, onSave, onClosed }: QuietFormProps) {
	const at = (targets: QuietHours["targets"]): Draft => {
		const known = all.find((hours) => JSON.stringify(hours.targets) === JSON.stringify(targets));
		return known ? { ...bodyOf(known), on: true } : { ...usualQuietHours, targets };
	};
	const [draft, setDraft] = useState(() => at(initial));
	const { targets, from, until, days = weekdays, volume, brightness, onlyUrgent = false } = draft;
	const change = (changed: Partial<Draft>) => setDraft({ ...draft, ...changed });
	const isLimited = volume !== undefined || brightness !== undefined || onlyUrgent;
	return (
		<FormDialog
			title="Set quiet hours"
			action="set_quiet"
			isComplete={isLimited && from !== "" && until !== "" && days.length > 0}
			onSave={() => onSave(draft)}
			onClosed={onClosed}
		>
			<TargetChoice
				label="Where"
				targets={asTargets(targets)}
				onChange={(next) => setDraft(at(asQuietTargets(next)))}
			/>
			<div class="fields">
				<Field label="From" type="time" value={from} onInput={(next) => change({ from: next })} />
				<Field label="Until" type="time" value={until} onInput={(next) => change({ until: next })} />
			</div>
			<Days days={days} onChange={(next) => change({ days: next })} />
			<Limit
				text="Limit the volume"
				label="Maximum volume"
				value={volume}
				usual={usualQuietHours.volume}
				onChange={(next) => change({ volume: next })}
			/>
			<Limit
				text="Limit the ring's brightness"
				label="Maximum brightness"
				value={brightness === undefined ? undefined : Math.round(brightness * 100)}
				usual={usualQuietHours.brightness * 100}
				onChange={(next) => change({ brightness: next === undefined ? undefined : next / 100 })}
			/>
			<Check
				label="Only urgent announcements"
				checked={onlyUrgent}
				onToggle={(on) => change({ onlyUrgent: on })}
			/>
		</FormDialog>
	);
}

function bodyOf({ id, zone, by, changedAt, holdsUntil, ...body }: QuietHours): QuietHoursRequest {
	return body;
}

function asQuietTargets({ devices: [device] = [], ...others }: Targets): QuietHours["targets"] {
	return device === undefined ? others : { device };
}
