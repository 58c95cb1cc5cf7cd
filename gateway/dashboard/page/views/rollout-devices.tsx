/** The devices of a roll-out by their status, read from the gateway on request; what went wrong without one. */

import { useEffect, useState } from "preact/hooks";
import { problems, type RolloutDevice, type RolloutHead } from "../../../api/client/rollout.js";
import { sentence } from "../../../api/client/words.js";
import { type DeviceStatus, deviceStatuses, deviceWords } from "../../../api/statuses.js";
import { useApp } from "../app/hooks.js";
import { Toggles } from "../parts/field.js";
import { capital } from "../parts/presence.js";
import { Rows } from "../parts/rows.js";
import { DeviceLink } from "./device-link.js";

export function RolloutDevices({ head }: { head: RolloutHead }) {
	const [chosen, setChosen] = useState<DeviceStatus>();
	const isThere = (status: DeviceStatus) => head.counts[status] > 0;
	const shown = chosen && isThere(chosen) ? chosen : undefined;
	const statuses = shown ? [shown] : problems.filter(isThere);
	return (
		<>
			<Toggles
				label="Devices by status"
				look="statuses"
				options={deviceStatuses
					.filter(isThere)
					.map((status) => [status, `${head.counts[status].toLocaleString("en")} ${deviceWords[status]}`])}
				value={shown}
				onChange={(status) => setChosen(status === shown ? undefined : status)}
			/>
			{statuses.length > 0 && (
				<Devices
					key={statuses.join()}
					label={shown ? `${capital(deviceWords[shown])} devices` : "What went wrong"}
					head={head}
					statuses={statuses}
				/>
			)}
		</>
	);
}

interface DevicesProps {
	readonly label: string;
	readonly head: RolloutHead;
	readonly statuses: readonly DeviceStatus[];
}

function Devices({ label, head: { id, counts }, statuses }: DevicesProps) {
	const { rollouts } = useApp();
	const [devices, setDevices] = useState<readonly RolloutDevice[]>();
	useEffect(() => {
		let isShown = true;
		rollouts.devices(id, statuses).then(
			(read) => isShown && setDevices(read),
			() => {},
		);
		return () => {
			isShown = false;
		};
	}, [rollouts, id, counts]);
	if (!devices) return <p class="hint">Reading…</p>;
	return (
		<div class="device-list">
			<Rows label={label} items={devices} keyOf={({ deviceId }) => deviceId}>
				{({ deviceId, status, reason, attempts }) => (
					<>
						<DeviceLink deviceKey={deviceId} />
						<span class="hint">
							{deviceWords[status]}
							{reason ? `: ${sentence(reason)}` : attempts > 1 && `, ${attempts} attempts`}
						</span>
					</>
				)}
			</Rows>
		</div>
	);
}
