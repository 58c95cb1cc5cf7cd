/** The devices of a roll-out by their status, read from the gateway on request. */

import { useEffect, useState } from "preact/hooks";
import { type RolloutDevice, type RolloutHead, sum, watchWords } from "../../../api/client/rollout.js";
import { sentence } from "../../../api/client/words.js";
import { type DeviceStatus, deviceStatuses, deviceWords } from "../../../api/statuses.js";
import { useApp, useNow } from "../app/hooks.js";
import { Toggles } from "../parts/field.js";
import { capital } from "../parts/presence.js";
import { Rows } from "../parts/rows.js";
import { DeviceLink } from "./device-link.js";

export function DevicesByStatus({ head }: { head: RolloutHead }) {
	const [shown, setShown] = useState<DeviceStatus>();
	const there = deviceStatuses.filter((status) => head.counts[status] > 0);
	return (
		<>
			<Toggles
				label="Devices by status"
				look="statuses"
				options={there.map((status) => [
					status,
					`${head.counts[status].toLocaleString("en")} ${deviceWords[status]}`,
				])}
				value={shown}
				onChange={(status) => setShown(status === shown ? undefined : status)}
			/>
			{shown && <Devices key={shown} head={head} status={shown} />}
		</>
	);
}

/** Those of some statuses. @param version read again when it changes */
export function useDevicesOf(
	{ id, counts }: RolloutHead,
	statuses: readonly DeviceStatus[],
	version: RolloutHead["counts"] | number,
) {
	const { rollouts, clock } = useApp();
	const [read, setRead] = useState<{ readonly devices: readonly RolloutDevice[]; readonly at: number }>();
	useEffect(() => {
		let isShown = true;
		const take = (devices: readonly RolloutDevice[]) => isShown && setRead({ devices, at: clock.now() });
		if (sum(counts, statuses) === 0) take([]);
		else rollouts.devices(id, statuses).then(take, () => {});
		return () => {
			isShown = false;
		};
	}, [rollouts, id, version]);
	return read;
}

function Devices({ head, status }: { head: RolloutHead; status: DeviceStatus }) {
	const now = useNow(1000);
	const read = useDevicesOf(head, [status], head.counts);
	if (!read) return <p class="hint">Reading…</p>;
	const { devices, at } = read;
	if (devices.length === 0) return <p class="hint">None any more.</p>;
	return (
		<div class="device-list">
			<Rows
				label={`${capital(deviceWords[status])} devices`}
				items={devices}
				keyOf={({ deviceId }) => deviceId}
			>
				{(device) => (
					<>
						<DeviceLink deviceKey={device.deviceId} />
						<span class="hint">{sentenceOf(head, device, Math.max(0, now - at) / 1000)}</span>
					</>
				)}
			</Rows>
		</div>
	);
}

/** @param passedSeconds since it was read */
function sentenceOf(
	{ version }: RolloutHead,
	{ reason, soakSecondsLeft, attempts }: RolloutDevice,
	passedSeconds: number,
): string {
	if (reason) return sentence(reason);
	if (soakSecondsLeft !== null) {
		const left = Math.max(0, Math.ceil(soakSecondsLeft - passedSeconds));
		return `Runs ${version}, ${watchWords(left)}.`;
	}
	return attempts > 1 ? `${attempts} attempts` : "";
}
