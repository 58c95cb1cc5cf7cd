/** New rollout in three steps: firmware, devices, and how carefully they are updated. */

import { useState } from "preact/hooks";
import { models } from "../../../../device/protocol/schema.js";
import {
	defaultOptions,
	makePlan,
	mostAtOnce,
	type PlanOptions,
	smallTarget,
} from "../../../api/client/rollout-plan.js";
import { plural } from "../../../api/client/words.js";
import type { Target } from "../../../api/rollout.js";
import { rolloutAddress } from "../app/addresses.js";
import { useTopic } from "../app/hooks.js";
import { nameIn } from "../model/filter.js";
import { channelsOf, type Firmware, firmwareText } from "../model/outdated.js";
import { devicesIn, placeText, roomsOf } from "../model/rooms.js";
import { Button } from "../parts/button.js";
import { Cards } from "../parts/cards.js";
import { Check, Choice, Toggles } from "../parts/field.js";
import { Problem } from "../parts/problem.js";
import { Sheet } from "../parts/sheet.js";
import { TagsField } from "../parts/tags-field.js";
import { RolloutOptions } from "./rollout-options.js";
import { useRolloutStart } from "./use-rollout-start.js";

interface NewRolloutProps {
	/** Devices selected in the fleet; may be empty. */
	readonly devices: ReadonlySet<string>;
	readonly onClose: () => void;
}

export function NewRollout(props: NewRolloutProps) {
	const { firmware } = useTopic("firmware");
	const { choices, offered, latest } = firmware;
	const [chosen, setChosen] = useState<string>();
	const all = [...choices, ...channelsOf(offered)];
	const choice = all.find(({ selector }) => selector === chosen) ?? latest ?? choices[0];
	if (!choice)
		return (
			<Sheet title="New rollout" onClose={props.onClose}>
				<p>No firmware yet. Upload firmware or create a release.</p>
			</Sheet>
		);
	return <Form {...props} firmware={choice} choices={all} onChoice={setChosen} />;
}

const steps = [
	["what", "1. What"],
	["who", "2. Devices"],
	["how", "3. How careful"],
] as const;
type StepName = (typeof steps)[number][0];

const chosenDevices = "devices";
const allDevices = "all";
const oneRoom = "room";

type Care = "careful" | "normal" | "once" | "custom";
const cares: readonly (readonly [Care, title: string, text: string])[] = [
	["careful", "Careful", "A few devices first, then your approval."],
	["normal", "Normal", "A few devices first, then the rest."],
	["once", "All at once", "Every device right away."],
	["custom", "Custom", "Group sizes, limits and times."],
];

interface FormProps extends NewRolloutProps {
	readonly firmware: Firmware;
	readonly choices: readonly Firmware[];
	readonly onChoice: (selector: string) => void;
}

function Form({ devices: preselected, firmware: choice, choices, onChoice, onClose }: FormProps) {
	const { firmware, fleet } = useTopic("list", "firmware");
	const [step, setStep] = useState<StepName>(preselected.size > 0 ? "how" : "what");
	const [who, setWho] = useState(preselected.size > 0 ? chosenDevices : undefined);
	const [room, setRoom] = useState<string>();
	const [tags, setTags] = useState("");
	const [isStanding, setIsStanding] = useState(false);
	const [care, setCare] = useState<Care>("normal");
	const [custom, setCustom] = useState(defaultOptions);
	const entries = fleet.all();
	const { selector, images, channel } = choice;
	const isChannel = selector.startsWith("channel ");
	/** Number of devices of a model, or of all. */
	const sizeOf = (model?: string) =>
		entries.filter(({ session }) => !model || session.model === model).length;
	const fitting = models.filter(
		(candidate) => images.length === 0 || images.some(({ model }) => model === candidate),
	);
	const offered = fitting.filter((candidate) => sizeOf(candidate) > 0);
	const [largest] = [...fitting].sort((a, b) => sizeOf(b) - sizeOf(a));
	const isForAll = models.every((model) => sizeOf(model) === 0 || fitting.includes(model));
	const kind = who ?? (isForAll ? allDevices : (largest ?? allDevices));
	const model = fitting.find((candidate) => candidate === kind);
	const isOfKind = kind !== chosenDevices && kind !== oneRoom;
	const expression = isOfKind ? tags.trim() : "";
	const rooms = roomsOf(entries);
	const target = targetOf();
	const size = "devices" in target ? target.devices.length : expression === "" ? sizeOf(model) : undefined;
	const place = placeText("devices" in target ? target.devices.flatMap((key) => fleet.get(key) ?? []) : []);
	const options = { ...optionsOf(), standing: isOfKind && isStanding };
	const release = isChannel ? { channel: channel ?? "" } : { version: selector };
	const plan = makePlan(release, target, options, size);
	const rollout = useRolloutStart(choice, plan, place);
	const index = steps.findIndex(([name]) => name === step);
	const previous = steps[index - 1];
	const next = steps[index + 1];

	function targetOf(): Target {
		if (kind === chosenDevices) return { devices: [...preselected] };
		if (kind === oneRoom)
			return { devices: devicesIn({ room: room ?? rooms[0] ?? "" }, entries).map(({ key }) => key) };
		if (model === undefined && expression === "") return { all: true };
		return { ...(model && { model }), ...(expression !== "" && { tags: expression }) };
	}

	function optionsOf(): PlanOptions {
		switch (care) {
			case "careful": {
				const isSmall = size !== undefined && size <= smallTarget;
				return { ...defaultOptions, approval: true, canary: isSmall ? "1" : "", canaryFailures: "1" };
			}
			case "normal":
				return defaultOptions;
			case "once":
				return { ...defaultOptions, canary: "0", concurrency: String(mostAtOnce) };
			case "custom":
				return custom;
		}
	}

	return (
		<Sheet
			title="New rollout"
			keepsInput
			onClose={onClose}
			footer={
				<>
					<div class="preview">
						<p role="status">{rollout.preview}</p>
						{step === "how" && <p class="hint">{rollout.planned}</p>}
						<Problem>{rollout.problem}</Problem>
					</div>
					<button type="button" onClick={previous ? () => setStep(previous[0]) : onClose}>
						{previous ? "Back" : "Cancel"}
					</button>
					{next ? (
						<Button look="primary" onClick={() => setStep(next[0])}>
							Next
						</Button>
					) : (
						<Button
							look="primary"
							isChange
							disabled={!rollout.isReady}
							onClick={async () => location.replace(rolloutAddress(await rollout.start()))}
						>
							{rollout.text}
						</Button>
					)}
				</>
			}
		>
			<Toggles label="Steps" options={steps} value={step} onChange={setStep} />
			{step === "what" && (
				<Cards
					label="Firmware"
					value={selector}
					onChange={onChoice}
					options={choices.map((option) => [
						option.selector,
						option.selector.startsWith("channel ") ? `Channel ${option.channel}` : firmwareText(option),
						detailsOf(option),
					])}
				/>
			)}
			{step === "who" && (
				<>
					<Cards
						label="Devices"
						value={kind}
						onChange={setWho}
						options={[
							...(preselected.size > 0
								? [[chosenDevices, plural(preselected.size, "selected device"), namesOf()] as const]
								: []),
							[allDevices, "All devices", plural(entries.length, "device")] as const,
							...offered.map((board) => [board, `All ${board}`, plural(sizeOf(board), "device")] as const),
							...(rooms.length > 0 ? [[oneRoom, "A room", "Devices that are in it now"] as const] : []),
						]}
					/>
					{kind === oneRoom && (
						<Choice
							label="Room"
							value={room ?? rooms[0] ?? ""}
							onChange={setRoom}
							options={rooms.map((name) => [name, name])}
						/>
					)}
					{isOfKind && (
						<>
							<TagsField value={tags} entries={entries} onInput={setTags} />
							<Check
								label={`Include new devices${isChannel ? ` and new releases of ${channel}` : ""}`}
								checked={isStanding}
								onToggle={setIsStanding}
							/>
						</>
					)}
					{preselected.size === 0 && (
						<p class="hint">
							For specific devices, select them on <a href="#/">Home</a> and choose Update.
						</p>
					)}
				</>
			)}
			{step === "how" && (
				<>
					<Cards label="How careful" value={care} onChange={setCare} options={cares} />
					{care === "custom" && (
						<RolloutOptions
							options={custom}
							onChange={(change) => setCustom((before) => ({ ...before, ...change }))}
							plan={rollout.plan}
						/>
					)}
				</>
			)}
		</Sheet>
	);

	function detailsOf({ selector: option, version, images: all }: Firmware): string {
		const { releases = [], latest } = firmware.catalog ?? {};
		const date = releases.find((release) => release.version === option)?.date;
		return [
			option.startsWith("channel ") ? `Newest release, now ${version}` : option === latest && "latest",
			date,
			[...new Set(all.map(({ model: of }) => of))].join(", "),
		]
			.filter(Boolean)
			.join(" · ");
	}

	function namesOf(): string {
		const names = [...preselected].slice(0, 3).map((key) => nameIn(fleet, key));
		return `${names.join(", ")}${preselected.size > 3 ? "…" : ""}`;
	}
}
