/** What needs a person: why, since when, one thing to do about it, and a mark that it was seen, which all people share. */

import { useState } from "preact/hooks";
import { ask } from "../../../api/client/request.js";
import { age, crashText, plural, sentence } from "../../../api/client/words.js";
import { resetText } from "../../../api/statuses.js";
import { deviceAddress, updateAddress, useApp, useNow } from "../app/hooks.js";
import { type Concern, type ConcernKind, concernKinds } from "../model/concerns.js";
import { nameOf } from "../model/filter.js";
import { Button } from "../parts/button.js";
import { Choice } from "../parts/field.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { Rows } from "../parts/rows.js";
import { limitKey, refreshMs, useConcerns } from "./attention-link.js";
import { DeviceLink } from "./device-link.js";
import { DueUpdates } from "./due-updates.js";
import { Identify } from "./fleet-actions.js";
import { ForgetAway } from "./forget-away.js";

const titles: Readonly<Record<ConcernKind, string>> = {
	crashed: "Crashed",
	rolled_back: "Rolled back",
	often_restarted: "Often restarted",
	faulty: "A part does not work",
	away: "Away",
	weak_signal: "Weak signal",
	refused: "Refused",
};
const unnamed = "A device without a name";

export function AttentionView() {
	const { painter } = useApp();
	const { concerns, limit, notReady } = useConcerns();
	const [withSeen, setWithSeen] = useState(false);
	const shown = withSeen ? concerns : concerns.filter(({ seen }) => !seen);
	const hidden = concerns.length - shown.length;
	const count = shown.length + Number(notReady !== "");
	return (
		<div class="attention">
			<div class="head-line">
				<h1 class="here">
					<span role="status">
						{count === 0 ? "Nothing needs you" : `${plural(count, "thing")} to look at`}
					</span>
				</h1>
				<Choice
					label="Away for longer than"
					value={limit}
					onChange={(value) => {
						localStorage.setItem(limitKey, value);
						painter.mark("refusals");
					}}
					options={[
						["hour", "an hour"],
						["day", "a day"],
					]}
				/>
				{(hidden > 0 || withSeen) && (
					<Button look="quiet small" isPressed={withSeen} onClick={() => setWithSeen(!withSeen)}>
						{withSeen ? "Hide what was seen" : `Show ${hidden.toLocaleString("en")} seen`}
					</Button>
				)}
			</div>
			{notReady !== "" && (
				<Panel title="Gateway">
					<Problem>{notReady}</Problem>
				</Panel>
			)}
			{concernKinds.map((kind) => (
				<Group key={kind} kind={kind} concerns={shown.filter((concern) => concern.kind === kind)} />
			))}
			<DueUpdates />
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

function Group({ kind, concerns }: { kind: ConcernKind; concerns: readonly Concern[] }) {
	const { refusals } = useApp();
	const now = useNow(refreshMs);
	const onSeen = async (some: readonly Concern[]) => {
		await markSeen(some.filter(({ seen }) => !seen));
		await refusals.refresh();
	};
	const unseen = concerns.filter(({ seen }) => !seen).length;
	if (concerns.length === 0) return null;
	return (
		<section class="panel" aria-label={titles[kind]}>
			<div class="head-line">
				<h2>
					{titles[kind]} <span class="hint">{concerns.length.toLocaleString("en")}</span>
				</h2>
				{unseen > 1 && (
					<Button look="quiet small" isChange onClick={() => onSeen(concerns)}>
						All {unseen.toLocaleString("en")} seen
					</Button>
				)}
			</div>
			<Rows label={titles[kind]} items={concerns} keyOf={({ id }) => id} look="concern">
				{(concern) => <Row concern={concern} now={now} onSeen={() => onSeen([concern])} />}
			</Rows>
		</section>
	);
}

interface RowProps {
	readonly concern: Concern;
	readonly now: number;
	readonly onSeen: () => Promise<void>;
}

function Row({ concern, now, onSeen }: RowProps) {
	const { entry, since, seen, refusal } = concern;
	return (
		<>
			<p class={`concern-text ${seen ? "seen" : ""}`}>
				{entry ? <DeviceLink deviceKey={entry.key} /> : <strong>{refusal?.deviceId ?? unnamed}</strong>}{" "}
				{entry?.session.room !== undefined && <span class="hint">{entry.session.room}</span>}
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
				<Button
					look="small"
					isChange
					label={`Seen: ${entry ? nameOf(entry) : (refusal?.deviceId ?? unnamed)}`}
					onClick={onSeen}
				>
					Seen
				</Button>
			)}
		</>
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
		case "faulty":
			return reason;
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
