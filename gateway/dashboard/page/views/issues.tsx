/** Issues by cause with their devices and actions. Dismissing an issue applies to all people. */

import { useState } from "preact/hooks";
import { age, plural } from "../../../api/client/words.js";
import { request } from "../app/gateway.js";
import { deviceAddress, updateAddress, useApp, useNow } from "../app/hooks.js";
import { nameOf, naturalOrder } from "../model/filter.js";
import { type Issue, type IssueGroup, type IssueKind, issueLabels } from "../model/issues.js";
import { Button } from "../parts/button.js";
import { Panel } from "../parts/panel.js";
import { CrashCauses } from "./crash-causes.js";
import { DueUpdates } from "./due-updates.js";
import { refreshMs, useIssues } from "./issues-link.js";

const namedAtMost = 8;

export function IssuesView() {
	const { groups, gatewayProblems, count } = useIssues();
	const seen = groups.filter((group) => group.seen);
	return (
		<div class="issues">
			{count === 0 && <div class="quiet-ring" />}
			<h1 class="here">
				<span role="status">{count > 0 ? plural(count, "issue") : <AllGood />}</span>
			</h1>
			{gatewayProblems.map((problem) => (
				<Panel key={problem} title="Gateway" label={`Gateway: ${problem}`} look="issue bad">
					<p>{problem}</p>
				</Panel>
			))}
			<IssueGroups groups={groups.filter((group) => !group.seen)} />
			<DueUpdates />
			<CrashCauses />
			{seen.length > 0 && (
				<details class="housekeeping">
					<summary>{seen.length.toLocaleString("en")} dismissed</summary>
					<IssueGroups groups={seen} />
				</details>
			)}
		</div>
	);
}

/** Rejected devices, which cannot show the reason themselves. */
export function RejectedDevices() {
	const { groups } = useIssues();
	return <IssueGroups groups={groups.filter(({ kind, seen }) => kind === "refused" && !seen)} />;
}

interface DismissedItem extends Pick<Issue, "id" | "mark" | "since"> {
	readonly kind: IssueKind;
}

/** Dismisses issues for all people until their next occurrence. */
export function dismiss(dismissed: readonly DismissedItem[]): Promise<void> {
	const items = dismissed.map(({ kind, id, mark = id, since }) => ({
		kind: kind === "webhook_ended" || kind === "schedule_failed" ? "refused" : kind,
		id: mark,
		...(since !== null && { since }),
	}));
	return request("POST /api/attention/seen", { body: { items } });
}

function AllGood() {
	const { fleet, linkState } = useApp();
	const all = fleet.all();
	if (all.length === 0 && linkState.name !== "live") return <>Loading…</>;
	return <>All good</>;
}

function IssueGroups({ groups }: { readonly groups: readonly IssueGroup[] }) {
	const { rejections } = useApp();
	const now = useNow(refreshMs);
	return groups.map(({ kind, why, issues, seen, isHint }) => {
		const since = issues[0]?.since;
		const times = issues.reduce((sum, { count }) => sum + count, 0);
		const [first, ...others] = issues.map(issueName);
		const title = issueLabels[kind];
		return (
			<Panel
				key={`${kind} ${seen} ${why}`}
				title={title}
				label={`${title}: ${why}`}
				look={`issue ${isHint || seen ? "" : "bad"}`}
				hint={
					<>
						{times > issues.length && `${times.toLocaleString("en")} times, `}
						{since && <time dateTime={since}>{age(now - Date.parse(since))}</time>}
					</>
				}
			>
				<p>{why}</p>
				<Names issues={issues} />
				<div class="actions">
					<IssueAction kind={kind} issues={issues} />
					{!seen && (
						<Button
							look="small"
							isChange
							label={`Dismiss: ${title}, ${others.length > 0 ? plural(issues.length, "device") : first}`}
							onClick={async () => {
								await dismiss(issues.map((issue) => ({ kind, ...issue })));
								await rejections.refresh();
							}}
						>
							Dismiss
						</Button>
					)}
				</div>
			</Panel>
		);
	});
}

function Names({ issues }: { readonly issues: readonly Issue[] }) {
	const [isOpen, setIsOpen] = useState(false);
	const more = issues.length - namedAtMost;
	const sorted = [...issues].sort((a, b) => naturalOrder(issueName(a), issueName(b)));
	return (
		<ul class="names">
			{sorted.slice(0, isOpen ? undefined : namedAtMost).map((issue) => {
				const { id, entry, rejection } = issue;
				const name = issueName(issue);
				const beside = entry?.session.room ?? rejection?.remoteAddress;
				return (
					<li key={id}>
						{entry ? <a href={deviceAddress(entry.key)}>{name}</a> : name}
						{beside !== undefined && beside !== name && <span class="hint"> {beside}</span>}
					</li>
				);
			})}
			{more > 0 && (
				<li>
					<Button look="quiet small" isOpen={isOpen} onClick={() => setIsOpen(!isOpen)}>
						{isOpen ? "Fewer" : `and ${more.toLocaleString("en")} more`}
					</Button>
				</li>
			)}
		</ul>
	);
}

function issueName({ id, mark, entry, rejection }: Issue): string {
	if (entry) return nameOf(entry);
	if (mark !== undefined) return id;
	if (rejection?.what === "webhook" || rejection?.what === "schedule") return rejection.remoteAddress;
	return rejection?.deviceId ?? "Unnamed device";
}

/** Action that resolves an issue, beyond a look at the devices. */
function IssueAction({ kind, issues }: Pick<IssueGroup, "kind" | "issues">) {
	const { selection } = useApp();
	const keys = new Set(issues.flatMap(({ entry }) => entry?.key ?? []));
	const toUpdate = updateAddress(keys);
	switch (kind) {
		case "rolled_back":
		case "update_failed":
			return (
				<a href={toUpdate} onClick={() => toUpdate.endsWith("selected") && selection.set(keys)}>
					Update…
				</a>
			);
		case "away":
			return <a href="#/?state=away&sort=heard">Show devices that are away</a>;
		case "weak_signal":
			return <a href="#/settings/wifi">Show Wi-Fi</a>;
		case "webhook_ended":
			return <a href="#/settings">Show webhooks</a>;
		case "schedule_failed":
			return <a href="#/times">Show schedules</a>;
		case "refused": {
			// Equal for all issues of the group.
			const { what, replacedBy: by } = issues[0]?.rejection ?? {};
			if (by !== undefined) return <a href={deviceAddress(by)}>Show new device</a>;
			return keys.size === 0 && what === "connection" ? <a href="#/add">Add device</a> : null;
		}
		default:
			return null;
	}
}
