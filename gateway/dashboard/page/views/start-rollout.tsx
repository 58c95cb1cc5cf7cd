/** Starts a roll-out: what its plan would meet now, and a confirmation if it is for many. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { messageOf } from "../../../api/client/request.js";
import { beginsOf, type Preview, planWords, previewWords } from "../../../api/client/rollout.js";
import { type AskedPlan, makeRolloutId } from "../../../api/client/rollout-plan.js";
import { plural, sentence } from "../../../api/client/words.js";
import { isOver } from "../../../api/statuses.js";
import { useApp, useIsLive, useNow, useTopic } from "../app/hooks.js";
import { type Firmware, firmwareText } from "../model/outdated.js";
import { Button, fewDevices } from "../parts/button.js";
import { Problem } from "../parts/problem.js";

interface StartProps {
	readonly firmware: Firmware;
	readonly plan: AskedPlan;
	readonly shown: PlanPreview;
	readonly onStarted: () => void;
}

/** The preview of the plan, and the button that starts it. */
export function Start({ firmware, plan, shown: { preview, problem, isCurrent }, onStarted }: StartProps) {
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
	const planned = preview && sentence(planWords(preview.plan, clock.now()));
	const what = plural(count, "device");
	const none = joinsLater ? "Update those that join" : "Nothing to update";
	const label = count > 0 ? `Update ${what}` : preview ? none : "Update";
	return (
		<div class="start-rollout">
			<p role="status">
				{words !== what && words} <span class="hint">{planned}</span>
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
export function usePreview(plan: AskedPlan, isWanted: boolean): PlanPreview {
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
				if (isMeant) setAnswer({ text, problem: messageOf(error) });
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
