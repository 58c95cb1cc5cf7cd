/** The fleet as a dense table that can be sorted by every column. It shows the summary, and requests no reports. */

import { useCallback } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { age } from "../../../api/client/words.js";
import { deviceAddress, useDevice, useIsLive, useTopic } from "../app/hooks.js";
import { nameOf, type Sort } from "../model/filter.js";
import { DeviceState, Signal } from "../parts/presence.js";
import { type Column, Table } from "../parts/table.js";
import { Identify, SelectBox } from "./fleet-actions.js";

const columns: readonly Column<Sort>[] = [
	{ id: "name", title: "Device" },
	{ id: "room", title: "Room" },
	{ id: "model", title: "Model" },
	{ id: "version", title: "Firmware" },
	{ id: "state", title: "State" },
	{ id: "signal", title: "Signal" },
	{ id: "volume", title: "Volume" },
	{ id: "heard", title: "Heard" },
];

export function FleetTable({
	keys,
	initialKey,
}: {
	keys: readonly string[];
	initialKey: string | undefined;
}) {
	const app = useTopic("selection");
	const { query, selection } = app;
	const sortBy = (sort: Sort) => {
		app.query = { ...app.query, sort, isDescending: sort === query.sort && !query.isDescending };
	};
	const renderRow = useCallback(
		(key: string, isActive: boolean) => <Row deviceKey={key} isActive={isActive} />,
		[],
	);
	return (
		<Table
			label="Devices"
			columns={columns}
			keys={keys}
			sort={query.sort}
			isDescending={query.isDescending}
			onSort={sortBy}
			isSelected={(key) => selection.keys.has(key)}
			onSelect={(key, isRange) => (isRange ? selection.extend(key, keys) : selection.toggle(key))}
			onOpen={(key) => location.assign(deviceAddress(key))}
			onType={() => document.querySelector<HTMLElement>("search input")?.focus()}
			initialKey={initialKey}
		>
			{renderRow}
		</Table>
	);
}

function Row({ deviceKey, isActive }: { deviceKey: string; isActive: boolean }) {
	const entry = useDevice(deviceKey);
	const isLive = useIsLive();
	if (!entry) return null;
	const { session, vitals } = entry;
	const tabIndex = isActive ? 0 : -1;
	return (
		<>
			<td>
				<SelectBox deviceKey={deviceKey} tabIndex={tabIndex} />
			</td>
			<td class="of-name">
				<a href={deviceAddress(deviceKey)} tabIndex={tabIndex}>
					{nameOf(entry)}
				</a>
				{session.name !== undefined && <small>{deviceKey}</small>}
			</td>
			<td class="of-room">{session.room}</td>
			<td class="of-model">{session.model}</td>
			<td class="of-version">{session.firmwareVersion}</td>
			<td class="of-state">
				<DeviceState entry={entry} tabIndex={tabIndex}>
					<span class="presence here">{isLive ? "Connected" : "Not known"}</span>
				</DeviceState>
			</td>
			<td class="of-signal">
				<Signal entry={entry} />
			</td>
			<td class="of-volume">{session.connected && vitals.volume}</td>
			<td class="of-heard">
				<Heard entry={entry} />
			</td>
			<td>
				<Identify deviceKey={deviceKey} tabIndex={tabIndex} />
			</td>
		</>
	);
}

function Heard({ entry: { session, heardAt } }: { entry: Entry }) {
	const isLive = useIsLive();
	if (!session.connected) return <AwaySince heardAt={heardAt} />;
	return isLive ? <>now</> : null;
}

function AwaySince({ heardAt }: { heardAt: number }) {
	const { clock } = useTopic("second");
	return <>{age(clock.now() - heardAt)}</>;
}
