/** What a device said, word by word, for whoever looks for the reason of something. */

import { useState } from "preact/hooks";
import { uplinks } from "../../../../device/protocol/messages.js";
import { topics } from "../app/app.js";
import { useApp, useTopic } from "../app/hooks.js";
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
				{(line) => (
					<details>
						<summary>
							<time>{new Date(line.at).toLocaleTimeString("en-GB")}</time> <b>{line.type}</b>{" "}
							<span class="line-text">{line.text}</span>
						</summary>
						<pre>{pretty(line.text)}</pre>
						<CopyButton text={() => line.text} />
					</details>
				)}
			</LogPane>
		</section>
	);
}

const typeOptions = [["", "Any"] as const, ...Object.keys(uplinks).map((name) => [name, name] as const)];

function pretty(text: string): string {
	return JSON.stringify(JSON.parse(text), null, 2);
}
