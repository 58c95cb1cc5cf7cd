/** Recently refused devices and dropped reports: a person waits for them, and the devices cannot show the reason. */

import { useEffect, useState } from "preact/hooks";
import { age, plural } from "../../../api/client/words.js";
import { useApp, useIsLive, useNow } from "../app/hooks.js";

interface Refusal {
	readonly what: "connection" | "report";
	readonly deviceId: string | null;
	readonly remoteAddress: string;
	readonly reason: string;
	readonly count: number;
	readonly lastAt: string;
}

const refreshMs = 5000;

export function Refusals() {
	const isLive = useIsLive();
	const [refusals, setRefusals] = useState<readonly Refusal[]>([]);
	const now = useNow(refreshMs);
	useEffect(() => {
		if (!isLive || document.hidden) return;
		const request = new AbortController();
		read(request.signal).then(setRefusals, () => {
			// The connection's state is shown elsewhere, and the list is read again.
		});
		return () => request.abort();
	}, [isLive, now]);
	if (refusals.length === 0) return null;
	return (
		<details class="refusals">
			<summary>Refused lately: {plural(refusals.length, "cause")}</summary>
			<table>
				<thead>
					<tr>
						<th scope="col">When</th>
						<th scope="col">Device</th>
						<th scope="col">Address</th>
						<th scope="col">Why</th>
					</tr>
				</thead>
				<tbody>
					{refusals.map((refusal) => (
						<Row key={keyOf(refusal)} refusal={refusal} now={now} />
					))}
				</tbody>
			</table>
		</details>
	);
}

function Row({ refusal, now }: { refusal: Refusal; now: number }) {
	const { what, deviceId, remoteAddress, reason, count, lastAt } = refusal;
	const isKnown = useApp().fleet.get(deviceId ?? "") !== undefined;
	return (
		<tr>
			<td>
				<time dateTime={lastAt}>{age(now - Date.parse(lastAt))}</time>
				{count > 1 && ` (${count.toLocaleString("en")} times)`}
			</td>
			<td>
				{deviceId ?? "no name"}
				{deviceId !== null && !isKnown && <span class="hint"> unknown</span>}
			</td>
			<td>{remoteAddress}</td>
			<td>
				{what === "report" && "Report dropped: "}
				{reason}
			</td>
		</tr>
	);
}

function keyOf({ what, deviceId, remoteAddress, reason }: Refusal): string {
	return `${what} ${deviceId} ${remoteAddress} ${reason}`;
}

async function read(signal: AbortSignal): Promise<readonly Refusal[]> {
	const response = await fetch("api/refusals", { signal });
	if (!response.ok) throw new Error(`The gateway answered ${response.status}.`);
	const { refusals }: { refusals: readonly Refusal[] } = await response.json();
	return refusals;
}
