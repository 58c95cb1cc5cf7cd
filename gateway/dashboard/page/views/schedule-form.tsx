/** Form that adds or edits a schedule: time, action and targets. */

import { useState } from "preact/hooks";
import { keysOf } from "../../../../device/protocol/schema.js";
import type { SoundList } from "../../../api/announcement.js";
import { chimeWords, chosenChimes } from "../../../api/client/command-words.js";
import type { RequestBody } from "../../../api/client/request.js";
import { weekdays } from "../../../api/client/rollout-plan.js";
import { actionText, localTime, zoneText } from "../../../api/client/times.js";
import { type ConfirmableCommand, titleOf } from "../../../api/commands.js";
import type { Schedule } from "../../../api/schedule.js";
import type { Targets } from "../../../api/targets.js";
import { cleanText } from "../../../api/text.js";
import { AnnouncementOptions, type PlayOptions } from "../announce/options.js";
import { useApp } from "../app/hooks.js";
import { Choice, Days, Field, type Option, Toggles } from "../parts/field.js";
import { FormDialog } from "../parts/form-dialog.js";
import { Slider } from "../parts/slider.js";
import { TargetChoice } from "../parts/target-choice.js";

/** Schedule being edited; a new one has no id and an empty `do`. */
export type Draft = Pick<Schedule, "at" | "do"> & Partial<Pick<Schedule, "id" | "name" | "on">>;

const longestText = 1000;
const hourMs = 3_600_000;
/** A week. */
const mostMinutes = 10_080;
const usualMinutes = ["5", "10", "15", "30"];

/** Announcement or command. */
type Action = PlayOptions & { readonly payload?: ConfirmableCommand };
type Offer = readonly [kind: string, words: string, action: Action];

interface ScheduleFormProps {
	readonly edited: Draft;
	/** Time zone of the gateway. */
	readonly zone: string;
	readonly sounds: SoundList;
	readonly onSave: (body: RequestBody<"POST /api/schedules">) => Promise<void>;
	readonly onClosed: () => void;
}

export function ScheduleForm({ edited, zone, sounds, onSave, onClosed }: ScheduleFormProps) {
	const offers = offersOf(sounds);
	const { id, on } = edited;
	const isTimer = edited.at.in !== undefined;
	const { announcement, command } = edited.do;
	// A timer can be started without typing.
	const [, , usual] = offers.find(([offered]) => offered === "play_audio" || !isTimer) ?? [];
	const first = { targets: { all: true }, ...usual };
	const [name, setName] = useState(edited.name ?? "");
	const [{ targets, ...action }, setAction] = useState<Action & { readonly targets: Targets }>(
		announcement ?? command ?? first,
	);
	const [at, setAt] = useState(edited.at);
	const { text, sound, payload } = action;
	const change = (changed: Action) => setAction({ targets, ...action, ...changed });
	const kind = kindOf(action);
	const kinds = offers.map(([offered, words]): Option => [offered, words]);
	if (!kinds.some(([offered]) => offered === kind))
		kinds.push([kind, actionText(edited.do, () => undefined)]);
	const { weekly, once } = at;
	const hasTime = once !== "" && weekly?.time !== "" && weekly?.days?.length !== 0;
	const save = () => {
		const asked = { targets, ...action };
		return onSave({
			name: cleanText(name) || undefined,
			on,
			at,
			do: payload ? { command: { targets, payload } } : { announcement: asked },
		});
	};
	return (
		<FormDialog
			title={`${id === undefined ? "New" : "Edit"} ${isTimer ? "timer" : "schedule"}`}
			verb={isTimer && id === undefined ? "Start timer" : "Save"}
			action="play_sound"
			isComplete={hasTime && text?.trim() !== ""}
			onSave={save}
			onClosed={onClosed}
		>
			{at.in === undefined ? (
				<When at={at} zone={zone} onChange={setAt} />
			) : (
				<Minutes seconds={at.in} onChange={(next) => setAt({ in: next })} />
			)}
			<Field
				label="Name (optional)"
				placeholder={isTimer ? "Pizza" : "Good morning"}
				maxLength={64}
				value={name}
				onInput={setName}
			/>
			<Choice
				label="Action"
				value={kind}
				options={kinds}
				onChange={(next) => setAction({ targets, ...offers.find(([offered]) => offered === next)?.[2] })}
			/>
			{text !== undefined && (
				<Field
					label="Message"
					type="lines"
					maxLength={longestText}
					value={text}
					onInput={(next) => change({ text: next })}
				/>
			)}
			{sound !== undefined && (
				<Choice
					label="Saved sound"
					value={sound}
					options={sounds.sounds.map((saved) => [saved.id, saved.name])}
					onChange={(next) => change({ sound: next })}
				/>
			)}
			{payload?.command === "play_audio" && (
				<Choice
					label="Chime"
					value={payload.value}
					options={[...new Set([...chosenChimes, payload.value])].map((chime) => [chime, chimeWords[chime]])}
					onChange={(value) => change({ payload: { command: "play_audio", value } })}
				/>
			)}
			{payload?.command === "set_volume" && (
				<Slider
					label="Volume"
					value={payload.value}
					onChange={(value) => change({ payload: { command: "set_volume", value } })}
				/>
			)}
			<TargetChoice
				withTags
				label="Where"
				targets={targets}
				onChange={(next) => setAction({ ...action, targets: next })}
			/>
			{!payload && <AnnouncementOptions options={action} onChange={change} />}
		</FormDialog>
	);
}

interface WhenProps {
	readonly at: Schedule["at"];
	/** Time zone of the gateway. */
	readonly zone: string;
	readonly onChange: (at: Schedule["at"]) => void;
}

function When({ at: { weekly, once }, zone, onChange }: WhenProps) {
	const { clock } = useApp();
	const kinds = {
		Repeat: { weekly: { time: "08:00" } },
		Once: { once: localTime(clock.now() + hourMs, zone) },
	} as const;
	return (
		<>
			<Toggles
				label="When"
				options={keysOf(kinds).map((kind) => [kind, kind])}
				value={weekly ? "Repeat" : "Once"}
				onChange={(kind) => onChange(kinds[kind])}
			/>
			{weekly && (
				<>
					<Field
						label="Time"
						type="time"
						value={weekly.time}
						onInput={(time) => onChange({ weekly: { ...weekly, time } })}
					/>
					<Days
						days={weekly.days ?? weekdays}
						onChange={(days) => onChange({ weekly: { ...weekly, days } })}
					/>
				</>
			)}
			{once !== undefined && (
				<Field
					label="Date and time"
					type="datetime-local"
					value={once}
					onInput={(next) => onChange({ once: next })}
				/>
			)}
			<p class="hint">{zoneText(zone)}</p>
		</>
	);
}

interface MinutesProps {
	readonly seconds: number;
	readonly onChange: (seconds: number) => void;
}

/** Duration of a timer: one of the usual ones, or a number. */
function Minutes({ seconds, onChange }: MinutesProps) {
	const minutes = String(seconds / 60);
	const choose = (next: string) => onChange(Math.round(Number(next) * 60));
	return (
		<>
			<Toggles
				label="Duration"
				options={usualMinutes.map((count) => [count, `${count} min`])}
				value={minutes}
				onChange={choose}
			/>
			<Field label="Minutes" type="number" range={[1, mostMinutes]} value={minutes} onInput={choose} />
		</>
	);
}

function kindOf({ payload, ...announcement }: Action): string {
	const source = (["text", "sound"] as const).find((name) => announcement[name] !== undefined);
	if (payload?.command === "set_mute") return titleOf(payload);
	return payload?.command ?? source ?? "url";
}

/** Available actions with their initial values. */
function offersOf({ sounds: [sound], canSpeak }: SoundList): readonly Offer[] {
	const offers: readonly (Offer | false | undefined)[] = [
		canSpeak && ["text", "Say a text", { text: "" }],
		sound && ["sound", "Play a saved sound", { sound: sound.id }],
		["play_audio", "Play a chime", { payload: { command: "play_audio", value: "attention" } }],
		["set_volume", "Set the volume", { payload: { command: "set_volume", value: 30 } }],
		["Mute", "Mute", { payload: { command: "set_mute", value: true } }],
		["Unmute", "Unmute", { payload: { command: "set_mute", value: false } }],
		["stop_sound", "Stop playback", { payload: { command: "stop_sound" } }],
	];
	return offers.filter((offer) => offer !== false && offer !== undefined);
}
