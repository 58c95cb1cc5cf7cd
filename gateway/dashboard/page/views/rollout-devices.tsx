/** The devices that could be updated, to be picked from, each with how its own update stands. */

import { topics } from "../app/app.js";
import { deviceAddress, useApp, useDevice, useMedia, useTopic } from "../app/hooks.js";
import type { Entry } from "../model/fleet.js";
import { type Firmware, fits, isOutdated } from "../model/outdated.js";
import { isUpdating, plural } from "../model/words.js";
import { Grid } from "../parts/grid.js";
import { Progress, UpdateState } from "../parts/presence.js";

interface TableProps {
	readonly entries: readonly Entry[];
	readonly target: Firmware | undefined;
	readonly selected: ReadonlySet<string>;
	readonly onSelected: (selected: ReadonlySet<string>) => void;
	readonly search: string;
	readonly onSearch: (search: string) => void;
	/** Undefined: no update can be begun now. */
	readonly onUpdate: ((key: string) => void) | undefined;
}

export function DeviceTable({ entries, selected, onSelected, search, onSearch, ...row }: TableProps) {
	const keys = entries.map(({ key }) => key);
	const isNarrow = useMedia("(max-width: 34rem)");
	const able = entries.filter((entry) => canUpdate(entry, row.target)).map(({ key }) => key);
	const isAll = able.length > 0 && able.every((key) => selected.has(key));
	const toggle = (key: string) => {
		const next = new Set(selected);
		if (!next.delete(key)) next.add(key);
		onSelected(next);
	};
	return (
		<>
			<div class="toolbar">
				<label class="find">
					<span class="visually-hidden">Search devices</span>
					<input
						type="search"
						placeholder="Search devices…"
						value={search}
						onInput={({ currentTarget }) => onSearch(currentTarget.value)}
					/>
				</label>
				<label class="check">
					<input
						type="checkbox"
						checked={isAll}
						disabled={able.length === 0}
						onChange={() => onSelected(isAll ? new Set() : new Set(able))}
					/>
					<span>All {plural(able.length, "device")} that can be updated</span>
				</label>
			</div>
			{keys.length === 0 ? (
				<p class="empty">{search ? "No device is like that." : "No device yet."}</p>
			) : (
				<Grid label="Devices to update" keys={keys} height={isNarrow ? 84 : 58} gap={0}>
					{(key) => (
						<Row {...row} deviceKey={key} isPicked={selected.has(key)} onToggle={() => toggle(key)} />
					)}
				</Grid>
			)}
		</>
	);
}

interface RowProps extends Pick<TableProps, "target" | "onUpdate"> {
	readonly deviceKey: string;
	readonly isPicked: boolean;
	readonly onToggle: () => void;
}

function Row({ deviceKey, target, isPicked, onToggle, onUpdate }: RowProps) {
	const entry = useDevice(deviceKey);
	const { rollouts } = useApp();
	useTopic(topics.rollout);
	if (!entry) return null;
	const { session } = entry;
	const item = rollouts.current?.items.find(({ key }) => key === deviceKey);
	const isAble = canUpdate(entry, target);
	return (
		<div class="row">
			<input
				type="checkbox"
				aria-label={`Select ${deviceKey}`}
				checked={isPicked && isAble}
				disabled={!isAble}
				onChange={onToggle}
			/>
			<div class="row-text">
				<a href={deviceAddress(deviceKey)}>{deviceKey}</a>
				<span class="facts">
					<span>{session.model}</span>
					<span>{session.firmwareVersion ?? "version not known"}</span>
					{!session.connected && <span>away</span>}
					{target && isOutdated(session, target) && <span class="tag">outdated</span>}
				</span>
			</div>
			<div class="row-state">
				{item?.status === "waiting" || item?.status === "asked" ? (
					<span class="update-state">
						<span>{item.status === "waiting" ? "To come" : "Asking…"}</span>
						<Progress percent={0} label="Update" />
					</span>
				) : (
					<UpdateState metadata={session.metadata} />
				)}
			</div>
			<button
				type="button"
				class="quiet small"
				disabled={!isAble || !onUpdate}
				aria-label={`Update ${deviceKey}`}
				onClick={() => onUpdate?.(deviceKey)}
			>
				Update
			</button>
		</div>
	);
}

/** Whether the device could begin now. */
function canUpdate({ session }: Entry, target: Firmware | undefined): boolean {
	return target !== undefined && session.connected && fits(target, session) && !isUpdating(session.metadata);
}
