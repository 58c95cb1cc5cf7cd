/** Preview of a rollout plan, and its start. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { messageOf } from "../../../../device/message-of.js";
import { type Preview, planWords, previewWords, updatableCount } from "../../../api/client/rollout.js";
import { makeRolloutId, type RequestedPlan } from "../../../api/client/rollout-plan.js";
import { plural, sentence, withFieldName } from "../../../api/client/words.js";
import { isOver } from "../../../api/statuses.js";
import { request } from "../app/gateway.js";
import { useIsLive, useNow, useTopic } from "../app/hooks.js";
import type { Firmware } from "../model/outdated.js";
import { optionLabels } from "./rollout-options.js";

const typingMs = 250;
const ageMs = 5_000;

/** @param place of the devices, such as " in Mainz", or empty */
export function useRolloutStart(firmware: Firmware, plan: RequestedPlan, place: string) {
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
			const next = await request("POST /api/rollouts/preview", { body: plan }).then(
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
	const { preview, problem } = result ?? {};
	const count = preview ? updatableCount(preview) : 0;
	const none = standing ? "Start for new devices" : "Nothing to update";
	return {
		/** Plan with the gateway's defaults; undefined until known. */
		plan: preview?.plan,
		isReady: isCurrent && preview?.busy === 0 && (count > 0 || standing),
		/** Numbers of devices. */
		preview: preview ? previewWords(preview, place) : problem === undefined ? "Counting the devices…" : "",
		/** How the devices would be updated, or why they cannot be. */
		planned:
			preview &&
			(preview.busy > 0
				? "Devices can be in one rollout at a time. Wait for the other rollout, or cancel it."
				: sentence(planWords(preview.plan, clock.now()))),
		/** Text of the button that starts it. */
		text: count > 0 ? `Update ${plural(count, "device")}` : preview ? none : "Update",
		/** Error of the plan. */
		problem,
		/** Starts the rollout. The request is idempotent for the same id and plan. @returns its id @throws Rejection */
		start: async () => {
			await rollouts.after(request("PUT /api/rollouts/:id", { params: { id }, body: plan }));
			setStarted(started + 1);
			return id;
		},
	};
}
