/** The messages of a device: in words, and as JSON for anyone who looks for a cause. */

import { useState } from "preact/hooks";
import { topics } from "../app/app.js";
import { useApp, useTopic } from "../app/hooks.js";
import { jsonLines, uplinkWords } from "../model/report-changes.js";
import type { Line } from "../model/uplink-log.js";
import { Choice } from "../parts/choice.js";
import { CopyButton } from "../parts/copy-button.js";
import { LogPane } from "../parts/log-pane.js";

export function DeviceLog({ deviceKey }: { deviceKey: string }) {
	const { recorder } = useApp();
	useTopic(topics.record(deviceKey));
	const [type, setType] = useState("");
	return (
		<section class="panel log" aria-label="What it said">
			<h2>What it said</h2>
			<LogPane
				log={recorder.watch(deviceKey).log}
				what="what it said"
				noun="message"
				type={type}
				tools={<Choice label="Type" value={type} onChange={setType} options={typeOptions} />}
				empty="Nothing yet since this page was opened."
			>
				{(line) => <Said line={line} />}
			</LogPane>
		</section>
	);
}

function Said({ line }: { line: Line }) {
	const [isOpen, setIsOpen] = useState(false);
	return (
		<details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
			<summary>
				<time>{new Date(line.at).toLocaleTimeString("en-GB")}</time> <b>{uplinkWords[line.type]}</b>{" "}
				<span class="line-text">{line.words}</span>
			</summary>
			{isOpen && (
				<>
					<pre>
						{jsonLines(JSON.parse(line.text)).map(({ text, path }, index) => (
							<span key={index}>
								{path !== undefined && line.changed.includes(path) ? <mark>{text}</mark> : text}
								{"\n"}
							</span>
						))}
					</pre>
					<CopyButton text={() => line.text} />
				</>
			)}
		</details>
	);
}

const typeOptions = [["", "Any"] as const, ...Object.entries(uplinkWords)];
