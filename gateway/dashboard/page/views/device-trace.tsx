/** The live log of a device: the firmware's trace, from a person's request on. */

import { useEffect, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { topics } from "../app/app.js";
import { useApp, useIsLive, useTopic } from "../app/hooks.js";
import { LogPane } from "../parts/log-pane.js";

/** After this the device ends it. */
const logSeconds = 300;

export function DeviceTrace({ entry }: { entry: Entry }) {
	const app = useApp();
	const { key, session } = entry;
	useTopic(topics.record(key));
	const isLive = useIsLive();
	/** The session that it was requested from; the log ends with it. */
	const [askedOf, setAskedOf] = useState<string>();
	const [problem, setProblem] = useState("");
	const isOn = askedOf === session.sessionId && session.connected;
	useEffect(() => {
		if (!isOn) return;
		const timer = setTimeout(() => setAskedOf(undefined), logSeconds * 1000);
		return () => clearTimeout(timer);
	}, [isOn]);
	const toggle = async () => {
		setProblem("");
		const answer = await app.setLog(key, isOn ? "off" : "info", logSeconds);
		if (!answer.isTaken) return setProblem(answer.message);
		setAskedOf(isOn ? undefined : session.sessionId);
	};
	return (
		<section class="panel log trace" aria-label="Live log">
			<h2>Live log</h2>
			<p class="problem" role="alert">
				{problem}
			</p>
			<LogPane
				log={app.recorder.watch(key).trace}
				what="the live log"
				noun="line"
				tools={
					<button
						type="button"
						class="small"
						disabled={!isLive || !session.connected}
						onClick={() => void toggle()}
					>
						{isOn ? "Stop" : "Start"}
					</button>
				}
				empty={
					isOn
						? "It has said nothing yet."
						: "Start it to see what the firmware traces: the last 2 KB first, for 5 minutes."
				}
			>
				{({ text, at }) => (
					<p class="trace-line">
						<time>{new Date(at).toLocaleTimeString("en-GB")}</time> <span class="trace-text">{text}</span>
					</p>
				)}
			</LogPane>
		</section>
	);
}
