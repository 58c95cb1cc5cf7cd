/** A new roll-out: its firmware, devices and options. */

import { useEffect, useState } from "preact/hooks";
import { models } from "../../../../device/protocol/schema.js";
import { defaultOptions, makePlan } from "../../../api/client/rollout-plan.js";
import { plural } from "../../../api/client/words.js";
import { useTopic } from "../app/hooks.js";
import { firmwareText } from "../model/outdated.js";
import { Choice } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { RolloutOptions } from "./rollout-options.js";
import { StartRollout } from "./start-rollout.js";

const chosenDevices = "devices";

/** @param devices that a person has chosen in the fleet; may be empty */
export function RolloutForm({ devices: given }: { devices: ReadonlySet<string> }) {
	const { firmware, fleet } = useTopic("firmware", "list");
	const { upload, choices, catalog } = firmware;
	const [chosen, setChosen] = useState<string>();
	const [target, setTarget] = useState(given.size > 0 ? chosenDevices : undefined);
	const [options, setOptions] = useState(defaultOptions);
	useEffect(() => {
		if (upload?.name === "taken") setChosen("custom");
	}, [upload?.name]);
	const choice = choices.find(({ selector }) => selector === chosen) ?? firmware.latest ?? choices[0];
	if (!choice)
		return (
			<Panel title="New roll-out">
				<p class="hint">There is no firmware to update to yet: upload one, or make a release.</p>
			</Panel>
		);
	const { selector, images } = choice;
	const fitting = models.filter((one) => images.length === 0 || images.some(({ model }) => model === one));
	const sizeOf = (model: string) => fleet.all().filter(({ session }) => session.model === model).length;
	const [largest] = [...fitting].sort((a, b) => sizeOf(b) - sizeOf(a));
	const model = target === chosenDevices ? undefined : (fitting.find((one) => one === target) ?? largest);
	const plan = model
		? makePlan(selector, { model }, options, sizeOf(model))
		: makePlan(selector, { devices: [...given] }, options);
	const reset = () => {
		setOptions(defaultOptions);
		location.assign("#/firmware");
	};
	return (
		<Panel title="New roll-out">
			<div class="toolbar">
				<Choice
					label="Firmware"
					value={selector}
					onChange={setChosen}
					options={choices.map((one) => [
						one.selector,
						firmwareText(one) + (one.selector === catalog?.latest ? ", latest" : ""),
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
			<StartRollout firmware={choice} plan={plan} onStarted={reset}>
				{(whole) => (
					<details class="more">
						<summary>Options</summary>
						<RolloutOptions
							options={options}
							onChange={(change) => setOptions((before) => ({ ...before, ...change }))}
							isOfModel={model !== undefined}
							plan={whole}
						/>
					</details>
				)}
			</StartRollout>
		</Panel>
	);
}
