/** Issues as one list, a row for each cause; a row opens its devices and actions. Dismissing an issue applies to all people. */

import check from "lucide-static/icons/circle-check.svg";
import { useMemo, useState } from "preact/hooks";
import { age, plural } from "../../../api/client/words.js";
import type { CrashCause } from "../../../api/crash-causes.js";
import { deviceAddress, rolloutAddress, viewAddress } from "../app/addresses.js";
import { request } from "../app/gateway.js";
import { useApp, useDenial, useNow, useResource, useTopic } from "../app/hooks.js";
import { naturalOrder } from "../model/filter.js";
import { groupIssues, type Issue, type IssueRow } from "../model/issue-rows.js";
import { detailOf, issueName, subjectOf, titleOf } from "../model/issue-text.js";
import { type IssueKind, issueTypes } from "../model/issues.js";
import { Button } from "../parts/button.js";
import { EmptyState } from "../parts/empty-state.js";
import { Item } from "../parts/item.js";
import { PageHead } from "../parts/page-head.js";
import { Rows } from "../parts/rows.js";
import { Sheet } from "../parts/sheet.js";
import { DueUpdates } from "./due-updates.js";

const refreshMs = 10_000;
/** Dismissed issues, including the causes of crashes without a current one. */
const maxDismissed = 50;

export function IssuesView() {
	const { fleet, linkState } = useApp();
	const { rows, open, isLoading: isReading } = useIssues();
	const hints = rows.filter(({ seen, kind }) => !seen && issueTypes[kind].isHint);
	const dismissed = rows.filter(({ seen }) => seen);
	const isLoading = isReading || (fleet.size === 0 && linkState.name !== "live");
	// Later rows would move the earlier ones.
	if (isLoading) return <PageHead title={<span role="status">Loading…</span>} />;
	return (
		<div class="issues">
			<PageHead
				title={<span role="status">{open.length > 0 ? plural(open.length, "issue") : "All good"}</span>}
			/>
			{open.length === 0 && (
				<EmptyState icon={check} title="No open issues">
					Faults of devices, paused rollouts and failed schedules are listed here.
				</EmptyState>
			)}
			<IssueList label="Issues" rows={open} />
			<DueUpdates />
			{hints.length > 0 && <h2>Hints</h2>}
			<IssueList label="Hints" rows={hints} />
			{dismissed.length > 0 && (
				<details class="rest">
					<summary>{dismissed.length.toLocaleString("en")} dismissed</summary>
					<IssueList label="Dismissed" rows={dismissed.slice(0, maxDismissed)} />
				</details>
			)}
		</div>
	);
}

/** Rejected devices, which cannot show the reason themselves. */
export function RejectedDevices() {
	const { rows } = useIssues();
	return (
		<IssueList
			label="Rejected devices"
			rows={rows.filter(({ kind, seen }) => kind === "rejected" && !seen)}
		/>
	);
}

interface DismissedItem extends Pick<Issue, "id" | "since"> {
	readonly kind: IssueKind | "crash_new";
}

/** Dismisses issues for all people until their next occurrence. */
export function dismiss(dismissed: readonly DismissedItem[]): Promise<void> {
	const items = dismissed.flatMap(({ kind, id, since }) => {
		if (kind === "gateway" || kind === "rollout_paused") return [];
		const isRejection = kind === "webhook_ended" || kind === "schedule_failed";
		return { kind: isRejection ? ("rejected" as const) : kind, id, ...(since !== null && { since }) };
	});
	return request("POST /api/issues/seen", { body: { items } });
}

function IssueList({ label, rows }: { readonly label: string; readonly rows: readonly IssueRow[] }) {
	const [opened, setOpened] = useState<string>();
	const now = useNow(refreshMs);
	const row = rows.find(({ key }) => key === opened);
	const titles = rows.map(titleOf);
	/** Adds the reason if another row has the same title. */
	const distinctTitle = (row: IssueRow) => {
		const title = titleOf(row);
		return titles.filter((other) => other === title).length > 1 ? `${title}: ${row.why}` : title;
	};
	if (rows.length === 0) return null;
	return (
		<>
			<ul class="listed panel" aria-label={label}>
				{rows.map((row) => (
					<Item
						key={row.key}
						mark={<i class="dot" style={{ background: `var(--${toneOf(row)})` }} />}
						title={
							<button type="button" class="cover" aria-haspopup="dialog" onClick={() => setOpened(row.key)}>
								{distinctTitle(row)}
							</button>
						}
						facts={[detailOf(row), agoOf(row, now)]}
						actions={!row.seen && (actionOf(row) ? <IssueAction row={row} /> : <Dismiss row={row} />)}
					/>
				))}
			</ul>
			{row && <Details row={row} title={distinctTitle(row)} now={now} onClose={() => setOpened(undefined)} />}
		</>
	);
}

/** Tone of a dot. */
function toneOf({ kind, seen }: IssueRow): string {
	const { isHint, isBad } = issueTypes[kind];
	if (seen || isHint) return "off";
	return isBad ? "failed" : "retrying";
}

function agoOf({ cause, issues }: IssueRow, now: number): string {
	const since = cause?.last.at ?? issues[0]?.since;
	return since ? age(now - Date.parse(since)) : "";
}

interface DetailsProps {
	readonly row: IssueRow;
	readonly title: string;
	readonly now: number;
	readonly onClose: () => void;
}

function Details({ row, title, now, onClose }: DetailsProps) {
	const { why, cause, issues, seen } = row;
	const times = issues.reduce((sum, { count }) => sum + count, 0);
	return (
		<Sheet
			title={title}
			onClose={onClose}
			footer={
				!seen && (
					<>
						<Dismiss row={row} />
						<IssueAction row={row} isPrimary />
					</>
				)
			}
		>
			<p>{why || detailOf(row)}</p>
			{cause ? (
				<CrashDetails cause={cause} now={now} />
			) : (
				times > issues.length && <p class="hint">{plural(times, "time")}</p>
			)}
			{issues.length > 0 && <Names issues={issues} />}
		</Sheet>
	);
}

function CrashDetails({ cause, now }: { readonly cause: CrashCause; readonly now: number }) {
	const { first, versions, samples, frames } = cause;
	const [sample] = samples;
	const details = useResource(async () => {
		return sample && request("GET /api/devices/:deviceId", { params: { deviceId: sample.deviceId } });
	});
	const crash = details.value?.crashes.find(({ id }) => id === sample?.crashId);
	return (
		<>
			<p class="hint">
				{plural(cause.count, "time")}, first on {first.version ?? "an unknown version"},{" "}
				{age(now - Date.parse(first.at))}
			</p>
			<h3>Stack</h3>
			<pre>{crash?.stack || frames.join("\n") || "Unknown"}</pre>
			<h3>Versions</h3>
			<p>
				{versions
					.map(({ version, count }) => `${version ?? "Unknown"}: ${count.toLocaleString("en")}`)
					.join(", ")}
			</p>
		</>
	);
}

function Names({ issues }: { readonly issues: readonly Issue[] }) {
	const items = issues
		.map((issue) => ({ ...issue, deviceId: issue.entry?.key ?? issueName(issue) }))
		.sort((a, b) => naturalOrder(issueName(a), issueName(b)));
	return (
		<>
			<h3>{issues.some(({ entry }) => entry) ? plural(issues.length, "device") : "From"}</h3>
			<Rows label="Devices" items={items}>
				{({ deviceId, entry, rejection }) => (
					<span class="hint">
						{[entry?.session.firmwareVersion, rejection?.remoteAddress]
							.filter((text) => text && !deviceId.includes(text))
							.join(" · ")}
					</span>
				)}
			</Rows>
		</>
	);
}

function Dismiss({ row }: { readonly row: IssueRow }) {
	const { rejections } = useApp();
	const { kind, issues, cause } = row;
	if (kind === "gateway" || kind === "rollout_paused") return null;
	return (
		<Button
			look="quiet"
			isChange
			label={`Dismiss: ${titleOf(row)}, ${subjectOf(row)}`}
			onClick={async () => {
				const unseen = issues.filter(({ seen }) => !seen).map((issue) => ({ kind, ...issue }));
				const ofCause =
					cause && !cause.seen ? [{ kind: "crash_new" as const, id: cause.id, since: null }] : [];
				await rejections.after(dismiss([...unseen, ...ofCause]));
			}}
		>
			Dismiss
		</Button>
	);
}

/** Link to what resolves an issue; undefined if that is a look at the device. */
type IssueLink = readonly [text: string, href: string, isChange?: boolean] | undefined;

function actionOf({ kind, issues, rollout }: IssueRow): IssueLink {
	const keys = new Set(issues.flatMap(({ entry }) => entry?.key ?? []));
	const [first] = issues;
	switch (kind) {
		case "rolled_back":
		case "update_failed":
			return ["Update…", viewAddress("firmware", { devices: [...keys] }), true];
		case "rollout_paused":
			return ["Show rollout", rolloutAddress(rollout?.id ?? "")];
		case "rejected": {
			// Equal for all issues of the row.
			const { what, replacedBy: by } = first?.rejection ?? {};
			if (by !== undefined) return ["Show new device", deviceAddress(by)];
			return keys.size === 0 && what === "connection" ? ["Add device", "#/add", true] : undefined;
		}
		default:
			return issueTypes[kind].link;
	}
}

function IssueAction({ row, isPrimary = false }: { readonly row: IssueRow; readonly isPrimary?: boolean }) {
	const denial = useDenial();
	const [text, href, isChange] = actionOf(row) ?? [];
	if (href === undefined || (isChange && denial !== undefined)) return null;
	return (
		<a class={`button ${isPrimary ? "primary" : "quiet"}`} href={href}>
			{text}
		</a>
	);
}

/** Issues by cause, and those that are neither dismissed nor hints. */
function useIssues() {
	const app = useTopic("list", "issues", "rollouts");
	const { fleet } = app;
	const rejections = app.rejections.value?.rejections;
	const causes = app.crashes.value?.causes;
	const rollouts = app.rollouts.all;
	const problems = app.readiness.value;
	const now = useNow(refreshMs);
	const rows = useMemo(
		() => groupIssues({ entries: fleet.all(), rejections, causes, rollouts, problems }, now),
		[fleet, fleet.listVersion, rejections, causes, rollouts, problems, now],
	);
	const isLoading = [app.rejections, app.crashes, app.readiness].some(
		({ value, problem }) => value === undefined && problem === "",
	);
	return { rows, isLoading, open: rows.filter(({ seen, kind }) => !seen && !issueTypes[kind].isHint) };
}

export function IssueCount() {
	const { length: count } = useIssues().open;
	if (count === 0) return null;
	return (
		<>
			{" "}
			<b class="number">{count.toLocaleString("en")}</b>
		</>
	);
}
