/** New rollout: firmware, devices, and how carefully they are updated. */

import { useRef, useState } from "preact/hooks";
import { type Model, models } from "../../../../device/protocol/schema.js";
import {
	defaultOptions,
	makePlan,
	mostAtOnce,
	type PlanOptions,
	smallTarget,
} from "../../../api/client/rollout-plan.js";
import type { Target } from "../../../api/rollout.js";
import type { Targets } from "../../../api/targets.js";
import { rolloutAddress } from "../app/addresses.js";
import { useTopic } from "../app/hooks.js";
import { channelsOf, type Firmware, firmwareText } from "../model/outdated.js";
import { devicesIn, placeText } from "../model/rooms.js";
import { Cards, Check, Choice } from "../parts/field.js";
import { FormDialog } from "../parts/form-dialog.js";
import { Problem } from "../parts/problem.js";
import { Sheet } from "../parts/sheet.js";
import { TargetChoice } from "../parts/target-choice.js";
import { RolloutOptions } from "./rollout-options.js";
import { useRolloutStart } from "./use-rollout-start.js";

interface NewRolloutProps {
	/** Preselected targets, such as the devices selected in the fleet. */
	readonly targets: Targets | undefined;
	/** @param address of the started rollout */
	readonly onClose: (address?: string) => void;
}

export function NewRollout(props: NewRolloutProps) {
	const { firmware } = useTopic("firmware");
	const { choices, latest } = firmware;
	const [chosen, setChosen] = useState<string>();
	const all = [...choices, ...channelsOf(firmware.value?.offered)];
	const choice = all.find(({ selector }) => selector === chosen) ?? latest ?? choices[0];
	if (!choice)
		return (
			<Sheet title="New rollout" onClose={() => props.onClose()}>
				<p>No firmware yet. Upload firmware or create a release.</p>
			</Sheet>
		);
	return <Form {...props} firmware={choice} choices={all} onChoice={setChosen} />;
}

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

function Form({ targets: preselected, firmware: choice, choices, onChoice, onClose }: FormProps) {
	const { firmware, fleet } = useTopic("list", "firmware");
	const [targets, setTargets] = useState(preselected ?? { all: true });
	const [chosenModel, setModel] = useState<Model | "">();
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
	const [largest] = [...fitting].sort((a, b) => sizeOf(b) - sizeOf(a));
	const isForAll = models.every((model) => sizeOf(model) === 0 || fitting.includes(model));
	const usualModel = isForAll || chosenModel === "" ? undefined : largest;
	const model = fitting.find((candidate) => candidate === chosenModel) ?? usualModel;
	/** Whether the target is a list of devices, which others cannot join. */
	const isNamed = targets.devices !== undefined || targets.room !== undefined;
	const members = devicesIn(targets, entries);
	const target = targetOf();
	const size = members.filter(({ session }) => isNamed || !model || session.model === model).length;
	const options = { ...optionsOf(), standing: !isNamed && isStanding };
	const release = isChannel ? { channel: channel ?? "" } : { version: selector };
	const plan = makePlan(release, target, options, size);
	const rollout = useRolloutStart(choice, plan, isNamed ? placeText(members) : "");
	const started = useRef<string | undefined>(undefined);

	function targetOf(): Target {
		if (isNamed) return { devices: targets.devices ?? members.map(({ key }) => key) };
		const { tags } = targets;
		if (model === undefined && tags === undefined) return { all: true };
		return { ...(model && { model }), ...(tags !== undefined && { tags: tags.trim() }) };
	}

	function optionsOf(): PlanOptions {
		switch (care) {
			case "careful":
				return {
					...{ ...defaultOptions, approval: true, canaryFailures: "1" },
					canary: size <= smallTarget ? "1" : "",
				};
			case "normal":
				return defaultOptions;
			case "once":
				return { ...defaultOptions, canary: "0", concurrency: String(mostAtOnce) };
			case "custom":
				return custom;
		}
	}

	return (
		<FormDialog
			title="New rollout"
			verb={rollout.text}
			isComplete={rollout.isReady}
			preview={
				<>
					<p role="status">{rollout.preview}</p>
					<p class="hint">{rollout.planned}</p>
					<Problem>{rollout.problem}</Problem>
				</>
			}
			onSave={async () => {
				started.current = rolloutAddress(await rollout.start());
			}}
			onClosed={() => onClose(started.current)}
		>
			<Choice
				label="Firmware"
				value={selector}
				onChange={onChoice}
				options={choices.map((option) => [option.selector, textOf(option)])}
			/>
			<TargetChoice withTags label="Devices" targets={targets} onChange={setTargets} />
			{!isNamed && (
				<>
					<Choice
						label="Model"
						value={model ?? ""}
						onChange={setModel}
						options={[["", "All models"], ...fitting.map((board) => [board, board] as const)]}
					/>
					<Check
						label={`Include new devices${isChannel ? ` and new releases of ${channel}` : ""}`}
						checked={isStanding}
						onToggle={setIsStanding}
					/>
				</>
			)}
			<p class="hint">
				{targets.room !== undefined && "Updates the devices that are in the room now. "}
				For several devices, select them on <a href="#/">Home</a> and choose Update.
			</p>
			<Cards label="How careful" value={care} onChange={setCare} options={cares} />
			{care === "custom" && (
				<RolloutOptions
					options={custom}
					onChange={(change) => setCustom((before) => ({ ...before, ...change }))}
					plan={rollout.plan}
				/>
			)}
		</FormDialog>
	);

	function textOf(option: Firmware): string {
		const { releases = [], latest } = firmware.catalog ?? {};
		const ofChannel = option.selector.startsWith("channel ");
		return [
			ofChannel ? `Channel ${option.channel}, now ${option.version}` : firmwareText(option),
			option.selector === latest && "latest",
			releases.find(({ version }) => version === option.selector)?.date,
			[...new Set(option.images.map(({ model: of }) => of))].join(", "),
		]
			.filter(Boolean)
			.join(" · ");
	}
}
