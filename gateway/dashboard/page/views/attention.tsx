/** What needs a person: why, since when, one thing to do about it, and a mark that it was seen, which all people share. */

import { useMemo, useState } from "preact/hooks";
import { ask } from "../../../api/client/request.js";
import { age, crashText, plural, sentence } from "../../../api/client/words.js";
import { resetText } from "../../../api/statuses.js";
import { topics } from "../app/app.js";
import { deviceAddress, updateAddress, useApp, useNow, useTopic } from "../app/hooks.js";
import {
	type AwayLimit,
	type Concern,
	type ConcernKind,
	concernKinds,
	concernsOf,
} from "../model/concerns.js";
import { nameOf } from "../model/filter.js";
import { Choice } from "../parts/choice.js";
import { Grid } from "../parts/grid.js";
import { Problem } from "../parts/problem.js";
import { useRequest } from "../parts/use-request.js";
import { DeviceLink } from "./device-link.js";
import { Identify } from "./fleet-actions.js";
import { ForgetAway } from "./forget-away.js";

const titles: Readonly<Record<ConcernKind, string>> = {
	crashed: "Crashed",
	rolled_back: "Rolled back",
	often_restarted: "Often restarted",
	away: "Away",
	weak_signal: "Weak signal",
	refused: "Refused",
};
const limitKey = "away limit";
const refreshMs = 10_000;
const unnamed = "A device without a name";

/** All concerns, and what counts as long away. */
function useConcerns() {
	useTopic(topics.list, topics.refusals);
	const {
		fleet,
		fleet: { listVersion },
		refusals: { all },
	} = useApp();
	const now = useNow(refreshMs);
	const limit: AwayLimit = localStorage.getItem(limitKey) === "hour" ? "hour" : "day";
	const concerns = useMemo(
		() => concernsOf(fleet.all(), all, limit, now),
		[fleet, listVersion, all, limit, now],
	);
	return { concerns, limit };
}

/** The link in the header, with the number of what was not seen. */
export function AttentionLink({ isCurrent }: { isCurrent: boolean }) {
	const { concerns } = useConcerns();
	const count = concerns.filter(({ seen }) => !seen).length;
	return (
		<a href="#/attention" aria-current={isCurrent ? "page" : undefined}>
			Attention
			{count > 0 && (
				<>
					{" "}
					<b class="number">{count.toLocaleString("en")}</b>
				</>
			)}
		</a>
	);
}

export function AttentionView() {
	const { painter } = useApp();
	const { concerns, limit } = useConcerns();
	const [withSeen, setWithSeen] = useState(false);
	const shown = withSeen ? concerns : concerns.filter(({ seen }) => !seen);
	const hidden = concerns.length - shown.length;
	return (
		<div class="attention">
			<div class="head-line">
				<h1 class="here">
					<span role="status">
						{shown.length === 0 ? "Nothing needs you" : `${plural(shown.length, "thing")} to look at`}
					</span>
				</h1>
				<Choice
					label="Away for longer than"
					value={limit}
					onChange={(value) => {
						localStorage.setItem(limitKey, value);
						painter.mark(topics.refusals);
					}}
					options={[
						["hour", "an hour"],
						["day", "a day"],
					]}
				/>
				{(hidden > 0 || withSeen) && (
					<button
						type="button"
						class="quiet small"
						aria-pressed={withSeen}
						onClick={() => setWithSeen(!withSeen)}
					>
						{withSeen ? "Hide what was seen" : `Show ${hidden.toLocaleString("en")} seen`}
					</button>
				)}
			</div>
			{concernKinds.map((kind) => (
				<Group key={kind} kind={kind} concerns={shown.filter((concern) => concern.kind === kind)} />
			))}
			<ForgetAway />
		</div>
	);
}

/** Devices that were refused: a person waits for them, and they cannot show the reason. */
export function Refused() {
	const { concerns } = useConcerns();
	return <Group kind="refused" concerns={concerns.filter(({ kind, seen }) => kind === "refused" && !seen)} />;
}

/** For all people; the next such event shows it again. */
export function markSeen(concerns: readonly Pick<Concern, "kind" | "id" | "since">[]): Promise<void> {
	const items = concerns.map(({ kind, id, since }) => ({ kind, id, ...(since !== null && { since }) }));
	return ask("api/attention/seen", { method: "POST", body: { items } });
}

interface GroupProps {
	readonly kind: ConcernKind;
	readonly concerns: readonly Concern[];
}

function Group({ kind, concerns }: GroupProps) {
	const { refusals } = useApp();
	const now = useNow(refreshMs);
	const { run, problem } = useRequest();
	const onSeen = (some: readonly Concern[]) =>
		run(async () => {
			await markSeen(some.filter(({ seen }) => !seen));
			await refusals.refresh();
		});
	const byId = new Map(concerns.map((concern) => [concern.id, concern]));
	const unseen = concerns.filter(({ seen }) => !seen).length;
	if (concerns.length === 0) return null;
	return (
		<section class="panel" aria-label={titles[kind]}>
			<div class="head-line">
				<h2>
					{titles[kind]} <span class="hint">{concerns.length.toLocaleString("en")}</span>
				</h2>
				{unseen > 1 && (
					<button type="button" class="quiet small" onClick={() => onSeen(concerns)}>
						All {unseen.toLocaleString("en")} seen
					</button>
				)}
			</div>
			<Problem>{problem}</Problem>
			<Grid label={titles[kind]} keys={concerns.map(({ id }) => id)} height={64} gap={0}>
				{(id) => <Row concern={byId.get(id)} now={now} onSeen={onSeen} />}
			</Grid>
		</section>
	);
}

interface RowProps {
	readonly concern: Concern | undefined;
	readonly now: number;
	readonly onSeen: (concerns: readonly Concern[]) => void;
}

function Row({ concern, now, onSeen }: RowProps) {
	if (!concern) return null;
	const { entry, since, seen, refusal } = concern;
	const name = entry ? <DeviceLink deviceKey={entry.key} /> : <strong>{refusal?.deviceId ?? unnamed}</strong>;
	return (
		<div class={`row concern ${seen ? "seen" : ""}`}>
			<p class="concern-text">
				{name} {entry?.session.room !== undefined && <span class="hint">{entry.session.room}</span>}
				<br />
				<span>{why(concern)}</span>{" "}
				{since !== null && (
					<time class="hint" dateTime={since}>
						{age(now - Date.parse(since))}
					</time>
				)}
			</p>
			<Deed concern={concern} />
			{seen ? (
				<span class="hint">seen</span>
			) : (
				<button
					type="button"
					class="small"
					aria-label={`Seen: ${entry ? nameOf(entry) : (refusal?.deviceId ?? unnamed)}`}
					onClick={() => onSeen([concern])}
				>
					Seen
				</button>
			)}
		</div>
	);
}

/** One sentence. */
function why({ kind, entry, count, reason, refusal }: Concern): string {
	switch (kind) {
		case "crashed":
			return `${crashText(count, entry?.session.firmwareVersion ?? null)}.`;
		case "rolled_back":
			return sentence(entry?.session.metadata.otaReason ?? "its new firmware did not keep running");
		case "often_restarted":
			return `${plural(count, "restart")} in a day, at last: ${resetText(reason)}.`;
		case "away":
			return "Not connected.";
		case "weak_signal":
			return `Its signal is weak: ${entry?.vitals.rssi ?? "?"} dBm.`.replace("-", "−");
		case "refused": {
			const times = count > 1 ? ` (${count.toLocaleString("en")} times)` : "";
			const what = refusal?.what === "report" ? "Report dropped: " : "";
			return `${what}${sentence(reason)} From ${refusal?.remoteAddress}${times}.`;
		}
	}
}

/** What a person can do about it. */
function Deed({ concern: { kind, entry, refusal } }: { concern: Concern }) {
	if (!entry) return <a href="#/add">{refusal?.deviceId ? "Install it again" : "Add device"}</a>;
	switch (kind) {
		case "weak_signal":
			return <Identify deviceKey={entry.key} />;
		case "rolled_back":
			return <a href={updateAddress(new Set([entry.key]))}>Update…</a>;
		case "crashed":
			return <a href={deviceAddress(entry.key)}>See the crash</a>;
		default:
			return <a href={deviceAddress(entry.key)}>See the device</a>;
	}
}
