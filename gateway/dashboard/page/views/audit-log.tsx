/** Audit log of the gateway, the newest entry first. */

import { Fragment } from "preact";
import { useState } from "preact/hooks";
import type { ListedChange } from "../../../api/audit.js";
import { plural, since, when } from "../../../api/client/words.js";
import { request } from "../app/gateway.js";
import { useApp, useResource } from "../app/hooks.js";
import { auditText } from "../model/audit-text.js";
import { folded, nameIn } from "../model/filter.js";
import { personName } from "../model/roles.js";
import { Button } from "../parts/button.js";
import { DeviceLink } from "../parts/device-link.js";
import { Search } from "../parts/field.js";
import { Problem } from "../parts/problem.js";

const shownAtFirst = 50;
const maxNamed = 3;

export function AuditLog() {
	const { fleet } = useApp();
	const { value, problem } = useResource(() => request("GET /api/audit"));
	const [search, setSearch] = useState("");
	const [shown, setShown] = useState(shownAtFirst);
	const all = value?.changes ?? [];
	const textOf = (change: ListedChange) => {
		const { text, place, deviceIds } = auditText(change);
		const names = deviceIds.map((id) => nameIn(fleet, id));
		return folded([JSON.stringify(change), text, place, ...names].join(" "));
	};
	const words = folded(search).split(/\s+/);
	const found = all.filter((change) => words.every((word) => textOf(change).includes(word)));
	return (
		<>
			<p class="hint" role="status">
				{value && plural(found.length, "change")}
			</p>
			<Problem>{problem}</Problem>
			<search class="toolbar">
				<Search label="Search" placeholder="Search who, what, device…" value={search} onInput={setSearch} />
			</search>
			<ul class={found.length > 0 ? "listed panel" : ""} aria-label="Audit log">
				{found.slice(0, shown).map((change) => (
					<Change key={all.length - all.indexOf(change)} change={change} />
				))}
			</ul>
			{found.length > shown && (
				<Button onClick={() => setShown(shown + shownAtFirst)}>
					Show {Math.min(shownAtFirst, found.length - shown)} more
				</Button>
			)}
		</>
	);
}

function Change({ change }: { readonly change: ListedChange }) {
	const { clock } = useApp();
	const { text, color, place, deviceIds } = auditText(change);
	const [before, after] = text.split("●");
	return (
		<li title={`From ${change.address}`}>
			<p>
				{/* The token without a name. */}
				<strong>{personName(change.who)}</strong> {before}
				{after !== undefined && (
					<>
						<span class="dot custom" style={{ background: color }} />
						{after}
					</>
				)}
				<span class="hint">
					{place !== undefined && ` · ${place}`}
					{deviceIds.length > maxNamed
						? ` · ${plural(deviceIds.length, "device")}`
						: deviceIds.map((id) => (
								<Fragment key={id}>
									{" · "}
									<DeviceLink deviceKey={id} separator=" · " />
								</Fragment>
							))}
				</span>
			</p>
			<time class="hint" dateTime={change.at} title={when(change.at)}>
				{since(Date.parse(change.at), clock.now())}
			</time>
		</li>
	);
}
