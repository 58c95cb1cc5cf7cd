/** A new roll-out: its firmware, devices and options. */

import { useEffect, useState } from "preact/hooks";
import { models } from "../../../../device/protocol/schema.js";
import { defaultOptions, makePlan } from "../../../api/client/rollout-plan.js";
import { plural, withFieldName } from "../../../api/client/words.js";
import { useTopic } from "../app/hooks.js";
import { type Firmware, firmwareText } from "../model/outdated.js";
import { Choice } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { optionLabels, RolloutOptions } from "./rollout-options.js";
import { Start, usePreview } from "./start-rollout.js";

const chosenDevices = "devices";

/** @param devices that a person has chosen in the fleet; may be empty */
export function RolloutForm({ devices }: { devices: ReadonlySet<string> }) {
	const { firmware } = useTopic("firmware");
	const [chosen, setChosen] = useState<string>();
	const { upload } = firmware;
	useEffect(() => {
		if (upload.name === "taken") setChosen("custom");
	}, [upload.name]);
	const choice =
		firmware.choices.find(({ selector }) => selector === chosen) ?? firmware.latest ?? firmware.choices[0];
	return (
		<Panel title="New roll-out">
			{choice ? (
				<Form firmware={choice} onFirmware={setChosen} devices={devices} />
			) : (
				<p class="hint">There is no firmware to update to yet: upload one, or make a release.</p>
			)}
		</Panel>
	);
}

interface FormProps {
	readonly firmware: Firmware;
	readonly onFirmware: (selector: string) => void;
	readonly devices: ReadonlySet<string>;
}

function Form({ firmware, onFirmware, devices: given }: FormProps) {
	const app = useTopic("list");
	const [target, setTarget] = useState(given.size > 0 ? chosenDevices : undefined);
	const [options, setOptions] = useState(defaultOptions);
	const { images } = firmware;
	const fitting = models.filter((one) => images.length === 0 || images.some(({ model }) => model === one));
	const sizeOf = (model: string) => app.fleet.all().filter(({ session }) => session.model === model).length;
	const [largest] = [...fitting].sort((a, b) => sizeOf(b) - sizeOf(a));
	const model = target === chosenDevices ? undefined : (fitting.find((one) => one === target) ?? largest);
	const plan = model
		? makePlan(firmware.selector, { model }, options, sizeOf(model))
		: makePlan(firmware.selector, { devices: [...given] }, options);
	const shown = usePreview(plan, model !== undefined || given.size > 0);
	const reset = () => {
		setOptions(defaultOptions);
		location.assign("#/firmware");
	};
	return (
		<>
			<div class="toolbar">
				<Choice
					label="Firmware"
					value={firmware.selector}
					onChange={onFirmware}
					options={app.firmware.choices.map((one) => [
						one.selector,
						firmwareText(one) + (one.selector === app.firmware.catalog?.latest ? ", latest" : ""),
					])}
				/>
				<Choice
					label="For"
					value={model ?? chosenDevices}
					onChange={setTarget}
					options={[
						...(given.size > 0 ? [[chosenDevices, plural(given.size, "chosen device")] as const] : []),
						...fitting.map((one) => [one, `All ${one} (${sizeOf(one).toLocaleString("en")})`] as const),
					]}
				/>
			</div>
			{given.size === 0 && (
				<p class="hint">
					For some devices alone: select them in the <a href="#/">fleet</a>, and choose Update there.
				</p>
			)}
			<details class="more">
				<summary>Options</summary>
				<RolloutOptions
					options={options}
					onChange={(change) => setOptions((before) => ({ ...before, ...change }))}
					isOfModel={model !== undefined}
					plan={shown.preview?.plan}
				/>
			</details>
			<Start
				firmware={firmware}
				plan={plan}
				shown={{ ...shown, problem: withFieldName(shown.problem, optionLabels) }}
				onStarted={reset}
			/>
		</>
	);
}
