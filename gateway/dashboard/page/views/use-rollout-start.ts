/** Preview of a rollout plan, and its start. */

import { useMemo, useState } from "preact/hooks";
import { planWords, previewWords, updatableCount } from "../../../api/client/rollout.js";
import { makeRolloutId, type RequestedPlan } from "../../../api/client/rollout-plan.js";
import { plural, sentence, withFieldName } from "../../../api/client/words.js";
import { isOver } from "../../../api/statuses.js";
import { request } from "../app/gateway.js";
import { useResource, useTopic } from "../app/hooks.js";
import type { Firmware } from "../model/outdated.js";
import { optionLabels } from "./rollout-options.js";

/** Interval at which the preview is loaded again, as devices change. */
const previewEveryMs = 5_000;

/** @param place of the devices, such as " in Mainz", or empty */
export function useRolloutStart(firmware: Firmware, plan: RequestedPlan, place: string) {
	const { rollouts, clock } = useTopic("rollouts");
	const text = JSON.stringify(plan);
	const active = rollouts.all.filter((head) => !isOver(head)).length;
	const read = async () => ({ text, ...(await request("POST /api/rollouts/preview", { body: plan })) });
	const { value, problem } = useResource(read, previewEveryMs, text, active);
	/** Latest preview, which may belong to an earlier plan. */
	const preview = problem === "" ? value : undefined;
	/** Number of started rollouts. The id is constant for a plan, so that a retry after a lost response starts it only once. */
	const [started, setStarted] = useState(0);
	const { standing = false } = plan;
	const name =
		standing && "channel" in plan.firmware ? plan.firmware.channel : (firmware.version ?? "upload");
	const id = useMemo(() => makeRolloutId(name), [text, started]);
	const count = preview ? updatableCount(preview) : 0;
	const none = standing ? "Start for new devices" : "Nothing to update";
	return {
		/** Plan with the gateway's defaults; undefined until known. */
		plan: preview?.plan,
		isReady: preview?.text === text && preview.busy === 0 && (count > 0 || standing),
		/** Numbers of devices. */
		preview: preview ? previewWords(preview, place) : problem === "" ? "Counting the devices…" : "",
		/** How the devices would be updated, or why they cannot be. */
		planned:
			preview &&
			(preview.busy > 0
				? "Devices can be in one rollout at a time. Wait for the other rollout, or cancel it."
				: sentence(planWords(preview.plan, clock.now()))),
		/** Text of the button that starts it. */
		text: count > 0 ? `Update ${plural(count, "device")}` : preview ? none : "Update",
		/** Error of the plan. */
		problem: withFieldName(problem, optionLabels),
		/** Starts the rollout. The request is idempotent for the same id and plan. @returns its id @throws Rejection */
		start: async () => {
			await rollouts.after(request("PUT /api/rollouts/:id", { params: { id }, body: plan }));
			setStarted(started + 1);
			return id;
		},
	};
}
