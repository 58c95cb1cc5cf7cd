/** The devices to choose from for a roll-out: each shows what it would get, or why it cannot be chosen. */

import type { Entry } from "../../../api/client/fleet.js";
import { deviceAddress, useDevice } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";
import { effectOn, type Firmware } from "../model/outdated.js";
import { Check, Search } from "../parts/field.js";
import { Grid } from "../parts/grid.js";

interface PickerProps {
	/** Devices that the search finds. */
	readonly entries: readonly Entry[];
	readonly firmware: Firmware;
	readonly allowDowngrade: boolean;
	readonly selected: ReadonlySet<string>;
	readonly onSelected: (selected: ReadonlySet<string>) => void;
	readonly search: string;
	readonly onSearch: (search: string) => void;
}

export function DevicePicker({ entries, selected, onSelected, search, onSearch, ...row }: PickerProps) {
	const able = entries
		.filter((entry) => !obstacle(entry, row.firmware, row.allowDowngrade))
		.map(({ key }) => key);
	const isAll = able.length > 0 && able.every((key) => selected.has(key));
	const change = (keys: readonly string[], isIn: boolean) => {
		const next = new Set(selected);
		for (const key of keys) isIn ? next.add(key) : next.delete(key);
		onSelected(next);
	};
	return (
		<div class="picker">
			<div class="toolbar">
				<Search label="Search devices" placeholder="Search devices…" value={search} onInput={onSearch} />
				<Check
					label={`All ${able.length.toLocaleString("en")} that ${search ? "are found and " : ""}can be updated`}
					checked={isAll}
					disabled={able.length === 0}
					onToggle={() => change(able, !isAll)}
				/>
			</div>
			{entries.length === 0 ? (
				<p class="empty">{search ? "No device is like that." : "No device yet."}</p>
			) : (
				<div class="picker-list">
					<Grid label="Devices to update" keys={entries.map(({ key }) => key)} height={52} gap={0}>
						{(key) => (
							<Row
								{...row}
								deviceKey={key}
								isPicked={selected.has(key)}
								onToggle={() => change([key], !selected.has(key))}
							/>
						)}
					</Grid>
				</div>
			)}
		</div>
	);
}

interface RowProps extends Pick<PickerProps, "firmware" | "allowDowngrade"> {
	readonly deviceKey: string;
	readonly isPicked: boolean;
	readonly onToggle: () => void;
}

function Row({ deviceKey, isPicked, onToggle, ...row }: RowProps) {
	const entry = useDevice(deviceKey);
	if (!entry) return null;
	const { session } = entry;
	const reason = obstacle(entry, row.firmware, row.allowDowngrade);
	const effect = effectOn(entry, row.firmware);
	return (
		<div class="row">
			<input
				type="checkbox"
				aria-label={`Select ${nameOf(entry)}`}
				checked={isPicked && !reason}
				disabled={reason !== undefined}
				onChange={onToggle}
			/>
			<a href={deviceAddress(deviceKey)}>{nameOf(entry)}</a>
			<span class="facts">
				{session.name !== undefined && <span>{deviceKey}</span>}
				<span>{session.firmwareVersion ?? "version not known"}</span>
				{!reason && effect === "update" && <span class="tag warn">outdated</span>}
				{!reason && effect === "downgrade" && <span class="tag bad">downgrade</span>}
				{reason && <span>{reason}</span>}
				{!reason && !session.connected && <span>away</span>}
			</span>
		</div>
	);
}

/** Why a device cannot be chosen, for a person; undefined where it can. */
export function obstacle(entry: Entry, firmware: Firmware, allowDowngrade: boolean): string | undefined {
	switch (effectOn(entry, firmware)) {
		case "none":
			return "runs it already";
		case "unfit":
			return `no image for ${[entry.session.model, entry.chip].filter(Boolean).join(" on ")}`;
		case "downgrade":
			return allowDowngrade ? undefined : "newer: see Options";
		case "update":
		case "unknown":
			return undefined;
	}
}
