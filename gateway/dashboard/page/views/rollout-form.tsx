/** A new roll-out: its firmware and devices, a preview, and a confirmation if it is for many. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { models } from "../../../../device/protocol/schema.js";
import { messageOf } from "../../../api/client/request.js";
import { beginsOf, type Preview, planWords, previewWords } from "../../../api/client/rollout.js";
import { type AskedPlan, defaultOptions, makePlan, makeRolloutId } from "../../../api/client/rollout-plan.js";
import { plural, withFieldName } from "../../../api/client/words.js";
import { isOver } from "../../../api/statuses.js";
import { useApp, useIsLive, useNow, useTopic } from "../app/hooks.js";
import type { Firmware } from "../model/outdated.js";
import { Button, fewDevices } from "../parts/button.js";
import { Choice } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { firmwareText } from "./device-update.js";
import { optionLabels, RolloutOptions } from "./rollout-options.js";

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
	const plan = makePlan(firmware.selector, model ? { model } : { devices: [...given] }, options);
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
			<Start firmware={firmware} plan={plan} shown={shown} onStarted={reset} />
		</>
	);
}

interface StartProps {
	readonly firmware: Firmware;
	readonly plan: AskedPlan;
	readonly shown: PlanPreview;
	readonly onStarted: () => void;
}

/** The preview of the plan, and the button that starts it. */
function Start({ firmware, plan, shown: { preview, problem, isCurrent }, onStarted }: StartProps) {
	const { rollouts, clock } = useApp();
	/** The same plan keeps its id, so that it does not start twice if an answer was lost. */
	const sent = useRef({ text: "", id: "" });
	const text = JSON.stringify(plan);
	const start = async () => {
		if (sent.current.text !== text) sent.current = { text, id: makeRolloutId(firmware.version ?? "upload") };
		await rollouts.start(sent.current.id, plan);
		sent.current = { text: "", id: "" };
		onStarted();
	};
	const count = preview ? beginsOf(preview) : 0;
	const joinsLater = "joinLater" in plan.target && plan.target.joinLater;
	const isReady = isCurrent && preview?.busy === 0 && (count > 0 || joinsLater);
	const words = preview ? previewWords(preview) : problem === "" && "Counting the devices…";
	const planned = preview && planWords(preview.plan, clock.now());
	const what = plural(count, "device");
	const none = joinsLater ? "Update those that join" : "Nothing to update";
	const label = count > 0 ? `Update ${what}` : preview ? none : "Update";
	return (
		<div class="start-rollout">
			<p role="status">
				{words} <span class="hint">{planned}</span>
			</p>
			<div class="actions">
				<Button
					key={text}
					look="primary"
					isChange
					disabled={!isReady}
					question={
						count > fewDevices && {
							title: `Update ${what} to ${firmwareText(firmware)}?`,
							text: (
								<>
									<p>{words}</p>
									<p class="hint">{planned}</p>
								</>
							),
						}
					}
					onClick={start}
				>
					{label}
				</Button>
				<Problem>{problem}</Problem>
				{preview && preview.busy > 0 && <p class="hint">{busyWords}</p>}
			</div>
		</div>
	);
}

const busyWords = "A device can be in one roll-out at a time: wait for the other one, or cancel it.";

const typingMs = 250;
const ageMs = 5_000;

interface PlanPreview {
	/** The latest; it may be of an earlier plan. */
	readonly preview?: Preview;
	/** Why the plan is refused. */
	readonly problem: string;
	readonly isCurrent: boolean;
}

/** The gateway's preview: read again when the plan, a roll-out or the list of devices changes, that at most every few seconds. */
function usePreview(plan: AskedPlan, isWanted: boolean): PlanPreview {
	const { rollouts, fleet } = useApp();
	const text = JSON.stringify(plan);
	useTopic("rollouts");
	const isLive = useIsLive();
	const tick = useNow(ageMs);
	const list = useMemo(() => fleet.listVersion, [fleet, tick]);
	const active = rollouts.all.filter((head) => !isOver(head)).length;
	const [answer, setAnswer] = useState<{ text: string; preview?: Preview; problem: string }>();
	const isCurrent = answer?.text === text;
	useEffect(() => {
		if (!isLive || !isWanted) return;
		let isMeant = true;
		const read = async () => {
			try {
				const preview = await rollouts.preview(plan);
				if (isMeant) setAnswer({ text, preview, problem: "" });
			} catch (error) {
				if (isMeant) setAnswer({ text, problem: withFieldName(messageOf(error), optionLabels) });
			}
		};
		const timer = setTimeout(read, isCurrent ? 0 : typingMs);
		return () => {
			isMeant = false;
			clearTimeout(timer);
		};
	}, [rollouts, text, isLive, isWanted, list, active]);
	return { problem: "", ...answer, isCurrent };
}
