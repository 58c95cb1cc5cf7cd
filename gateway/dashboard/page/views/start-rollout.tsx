/** Preview of a rollout plan, and the button that starts it, with a confirmation for many devices. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { messageOf } from "../../../api/client/request.js";
import {
	type Plan,
	type Preview,
	planWords,
	previewWords,
	updatableCount,
} from "../../../api/client/rollout.js";
import { makeRolloutId, type RequestedPlan } from "../../../api/client/rollout-plan.js";
import { plural, sentence, withFieldName } from "../../../api/client/words.js";
import { isOver } from "../../../api/statuses.js";
import { useIsLive, useNow, useTopic } from "../app/hooks.js";
import { type Firmware, firmwareText } from "../model/outdated.js";
import { Button, fewDevices } from "../parts/button.js";
import { Problem } from "../parts/problem.js";
import { optionLabels } from "./rollout-options.js";

interface StartProps {
	readonly firmware: Firmware;
	readonly plan: RequestedPlan;
	readonly onStarted?: () => void;
	/** Options. @param plan plan with the gateway's defaults; undefined until known */
	readonly children?: (plan: Plan | undefined) => ComponentChildren;
}

const typingMs = 250;
const ageMs = 5_000;

export function StartRollout({ firmware, plan, onStarted, children }: StartProps) {
	const { rollouts, fleet, clock } = useTopic("rollouts");
	const isLive = useIsLive();
	const text = JSON.stringify(plan);
	/** Latest preview, which may belong to an earlier plan. */
	const [result, setResult] = useState<{ text: string; preview?: Preview; problem?: string }>();
	const isCurrent = result?.text === text;
	// Reloaded when the plan, a rollout or, at most every few seconds, the list of devices changes.
	const tick = useNow(ageMs);
	const list = useMemo(() => fleet.listVersion, [fleet, tick]);
	const active = rollouts.all.filter((head) => !isOver(head)).length;
	useEffect(() => {
		if (!isLive) return;
		let isCurrentEffect = true;
		const read = async () => {
			const next = await rollouts.preview(plan).then(
				(preview) => ({ text, preview }),
				(error: unknown) => ({ text, problem: withFieldName(messageOf(error), optionLabels) }),
			);
			if (isCurrentEffect) setResult(next);
		};
		const timer = setTimeout(read, isCurrent ? 0 : typingMs);
		return () => {
			isCurrentEffect = false;
			clearTimeout(timer);
		};
	}, [rollouts, text, isLive, list, active]);
	/** Number of started rollouts. The id is constant for a plan, so that a retry after a lost response starts it only once. */
	const [started, setStarted] = useState(0);
	const { standing = false } = plan;
	const name =
		standing && "channel" in plan.firmware ? plan.firmware.channel : (firmware.version ?? "upload");
	const id = useMemo(() => makeRolloutId(name), [text, started]);
	const start = async () => {
		await rollouts.start(id, plan);
		setStarted(started + 1);
		onStarted?.();
	};
	const { preview, problem } = result ?? {};
	const count = preview ? updatableCount(preview) : 0;
	const isReady = isCurrent && preview?.busy === 0 && (count > 0 || standing);
	const words = preview ? previewWords(preview) : problem === undefined && "Counting the devices…";
	const planned = preview && sentence(planWords(preview.plan, clock.now()));
	const what = plural(count, "device");
	const none = standing ? "Start for new devices" : "Nothing to update";
	return (
		<div class="start-rollout">
			{children?.(preview?.plan)}
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
					{count > 0 ? `Update ${what}` : preview ? none : "Update"}
				</Button>
				<Problem>{problem}</Problem>
				{preview && preview.busy > 0 && (
					<p class="hint">
						Devices can be in one rollout at a time. Wait for the other rollout, or cancel it.
					</p>
				)}
			</div>
		</div>
	);
}
