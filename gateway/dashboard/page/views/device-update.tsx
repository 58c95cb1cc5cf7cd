/** The firmware of one device: what it could run, the update of it, and how the former ones ended. */

import { useEffect, useState } from "preact/hooks";
import { topics } from "../app/app.js";
import { useApp, useIsLive, useTopic } from "../app/hooks.js";
import type { Entry } from "../model/fleet.js";
import { fits } from "../model/outdated.js";
import { isUpdating } from "../model/words.js";
import { UpdateState } from "../parts/presence.js";
import { Choice } from "./fleet.js";
import { History } from "./update-history.js";

export function DeviceUpdate({ entry }: { entry: Entry }) {
	const { firmware, rollouts } = useApp();
	useTopic(topics.firmware);
	useTopic(topics.rollout);
	const isLive = useIsLive();
	const { key, session } = entry;
	const [chosen, setChosen] = useState<string>();
	useEffect(() => void firmware.refresh(), [firmware]);
	const choices = firmware.choices.filter((one) => fits(one, session));
	const best = choices.find(({ selector }) => selector === firmware.latest?.selector) ?? choices[0];
	const selector = choices.some((one) => one.selector === chosen) ? chosen : best?.selector;
	const item = rollouts.current?.items.find((one) => one.key === key);
	const refusal = item?.status === "refused" ? item.reason : undefined;
	const update = () => {
		if (selector) rollouts.start({ selector, keys: [key], atATime: 1, stopAfter: 1 });
	};
	const isBusy = isUpdating(session.metadata) || rollouts.isRunning;
	return (
		<section class="panel update" aria-label="Firmware">
			<h2>Firmware</h2>
			<UpdateState metadata={session.metadata} withReason />
			{choices.length === 0 ? (
				<p class="hint">
					There is no firmware for it at this gateway. <a href="#/firmware">Upload one</a>
				</p>
			) : (
				<div class="actions">
					<Choice
						label="Update to"
						value={selector ?? ""}
						onChange={setChosen}
						options={choices.map((one) => [one.selector, firmwareText(one.selector, one.version)])}
					/>
					<button
						type="button"
						class="primary"
						disabled={!isLive || !session.connected || isBusy}
						onClick={update}
					>
						Update
					</button>
				</div>
			)}
			<p class="problem" role="alert">
				{refusal}
			</p>
			<History updates={firmware.history.filter(({ deviceId }) => deviceId === key)} />
		</section>
	);
}

/** "1.4.0", "The upload (1.5.0-rc.1)" */
export function firmwareText(selector: string, version: string | null): string {
	return selector === "custom" ? `The upload (${version ?? "version not known"})` : selector;
}
