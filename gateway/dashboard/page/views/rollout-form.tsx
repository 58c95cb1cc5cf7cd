/** Form for a new rollout: firmware, devices and options. */

import { useEffect, useState } from "preact/hooks";
import { models } from "../../../../device/protocol/schema.js";
import { defaultOptions, makePlan } from "../../../api/client/rollout-plan.js";
import { plural } from "../../../api/client/words.js";
import { useTopic } from "../app/hooks.js";
import { channelsOf, firmwareText } from "../model/outdated.js";
import { Check, Choice } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { TagsField } from "../parts/tags.js";
import { RolloutOptions } from "./rollout-options.js";
import { StartRollout } from "./start-rollout.js";

const chosenDevices = "devices";
const allDevices = "all";

/** @param devices devices selected in the fleet; may be empty */
export function RolloutForm({ devices: given }: { devices: ReadonlySet<string> }) {
	const { firmware, fleet } = useTopic("firmware", "list");
	const { upload, choices, catalog } = firmware;
	const [chosen, setChosen] = useState<string>();
	const [target, setTarget] = useState(given.size > 0 ? chosenDevices : undefined);
	const [tags, setTags] = useState("");
	const [options, setOptions] = useState(defaultOptions);
	useEffect(() => {
		if (upload?.name === "accepted") setChosen("custom");
	}, [upload?.name]);
	const channels = channelsOf(catalog);
	const channel = channels.find(({ selector }) => selector === chosen);
	const choice =
		channel ?? choices.find(({ selector }) => selector === chosen) ?? firmware.latest ?? choices[0];
	if (!choice)
		return (
			<Panel title="New rollout">
				<p class="hint">No firmware yet. Upload firmware or create a release.</p>
			</Panel>
		);
	const { selector, images } = choice;
	const fitting = models.filter((one) => images.length === 0 || images.some(({ model }) => model === one));
	const sizeOf = (model: string) => fleet.all().filter(({ session }) => session.model === model).length;
	const [largest] = [...fitting].sort((a, b) => sizeOf(b) - sizeOf(a));
	const kind = target ?? largest ?? allDevices;
	const model = fitting.find((one) => one === kind);
	const expression = tags.trim();
	const isOfKind = kind !== chosenDevices;
	const plan = makePlan(
		channel ? { channel: channel.channel ?? "" } : { version: selector },
		kind === chosenDevices
			? { devices: [...given] }
			: model === undefined && expression === ""
				? { all: true }
				: { ...(model && { model }), ...(expression !== "" && { tags: expression }) },
		{ ...options, standing: isOfKind && options.standing },
		isOfKind && expression === "" ? (model ? sizeOf(model) : fleet.all().length) : undefined,
	);
	const reset = () => {
		setOptions(defaultOptions);
		setTags("");
		location.assign("#/firmware");
	};
	return (
		<Panel title="New rollout">
			<div class="fields">
				<Choice
					label="Firmware"
					value={selector}
					onChange={setChosen}
					options={[
						...choices.map(
							(one) =>
								[
									one.selector,
									firmwareText(one) + (one.selector === catalog?.latest ? ", latest" : ""),
								] as const,
						),
						...channels.map((one) => [one.selector, `Channel ${one.channel}, now ${one.version}`] as const),
					]}
				/>
				<Choice
					label="For"
					value={kind}
					onChange={setTarget}
					options={[
						...(given.size > 0 ? [[chosenDevices, plural(given.size, "selected device")] as const] : []),
						...fitting.map((one) => [one, `All ${one} (${sizeOf(one).toLocaleString("en")})`] as const),
						[allDevices, `All devices (${fleet.all().length.toLocaleString("en")})`] as const,
					]}
				/>
				{isOfKind && <TagsField value={tags} entries={fleet.all()} onInput={setTags} />}
			</div>
			{isOfKind && (
				<Check
					label={`Include new devices${channel ? ` and new releases of ${channel.channel}` : ""}`}
					checked={options.standing}
					onToggle={(standing) => setOptions((before) => ({ ...before, standing }))}
				/>
			)}
			{given.size === 0 && (
				<p class="hint">
					To update specific devices, select them in the <a href="#/">fleet</a> and choose Update.
				</p>
			)}
			<StartRollout firmware={choice} plan={plan} onStarted={reset}>
				{(whole) => (
					<details class="more">
						<summary>Options</summary>
						<RolloutOptions
							options={options}
							onChange={(change) => setOptions((before) => ({ ...before, ...change }))}
							plan={whole}
						/>
					</details>
				)}
			</StartRollout>
		</Panel>
	);
}
