/** Audit log of the gateway, the newest entry first. */

import { useState } from "preact/hooks";
import type { ListedChange } from "../../../api/audit.js";
import { plural, when } from "../../../api/client/words.js";
import { request } from "../app/gateway.js";
import { useApp, useResource } from "../app/hooks.js";
import { auditText } from "../model/audit-text.js";
import { nameIn } from "../model/filter.js";
import { Button } from "../parts/button.js";
import { DeviceLink } from "../parts/device-link.js";
import { Search } from "../parts/field.js";
import { Problem } from "../parts/problem.js";

const shownAtFirst = 50;
export function AuditLog() {
	const { fleet } = useApp();
	const { value, problem } = useResource(() => request("GET /api/audit"));
	const [search, setSearch] = useState("");
	const [shown, setShown] = useState(shownAtFirst);
	const all = value?.changes ?? [];
	const textOf = (change: ListedChange) =>
		[...Object.values(change), auditText(change).text, change.deviceId && nameIn(fleet, change.deviceId)]
			.join(" ")
			.toLowerCase();
	const words = search.toLowerCase().split(/\s+/);
	const found = all.filter((change) => words.every((word) => textOf(change).includes(word)));
	return (
		<>
			<h1 class="here">
				<span role="status">{value ? plural(found.length, "change") : "Audit log"}</span>
			</h1>
			<Problem>{problem}</Problem>
			<search class="toolbar">
				<Search label="Search" placeholder="Search who, what, device…" value={search} onInput={setSearch} />
			</search>
			<ul class={found.length > 0 ? "listed panel" : ""} aria-label="Audit log">
				{found.slice(0, shown).map((change) => {
					const { text, rest } = auditText(change);
					return (
						<li key={all.length - all.indexOf(change)}>
							<div>
								<strong>{text}</strong>
								{change.deviceId !== null && (
									<>
										: <DeviceLink deviceKey={change.deviceId} />
									</>
								)}
								<p>{rest}</p>
								<p class="hint" title={`${change.what}, from ${change.address}`}>
									{change.who}, <time dateTime={change.at}>{when(change.at)}</time>
								</p>
							</div>
						</li>
					);
				})}
			</ul>
			{found.length > shown && (
				<Button onClick={() => setShown(shown + shownAtFirst)}>
					Show {Math.min(shownAtFirst, found.length - shown)} more
				</Button>
			)}
		</>
	);
}
