/** The devices of a roll-out by their status, read from the gateway on request. */

import { useEffect, useState } from "preact/hooks";
import { type RolloutDevice, type RolloutHead, watchWords } from "../../../api/client/rollout.js";
import { sentence } from "../../../api/client/words.js";
import { type DeviceStatus, deviceStatuses, deviceWords, isOver } from "../../../api/statuses.js";
import { useApp, useNow } from "../app/hooks.js";
import { Grid } from "../parts/grid.js";
import { capital } from "../parts/presence.js";
import { DeviceLink } from "./device-link.js";

export function DevicesByStatus({ head }: { head: RolloutHead }) {
	const [shown, setShown] = useState<DeviceStatus>();
	const there = deviceStatuses.filter((status) => head.counts[status] > 0);
	return (
		<>
			<fieldset class="statuses" aria-label="Devices by status">
				{there.map((status) => (
					<button
						key={status}
						type="button"
						class={`small ${status}`}
						aria-pressed={status === shown}
						onClick={() => setShown(status === shown ? undefined : status)}
					>
						{head.counts[status].toLocaleString("en")} {deviceWords[status]}
					</button>
				))}
			</fieldset>
			{shown && <Devices key={shown} head={head} status={shown} />}
		</>
	);
}

const ageMs = 5_000;

function Devices({ head, status }: { head: RolloutHead; status: DeviceStatus }) {
	const { rollouts } = useApp();
	const tick = useNow(ageMs);
	const [devices, setDevices] = useState<readonly RolloutDevice[]>();
	const { id } = head;
	// An ended one does not change.
	const version = isOver(head) ? head.status : tick;
	useEffect(() => {
		let isShown = true;
		rollouts.devices(id, [status]).then(
			(found) => isShown && setDevices(found),
			() => {},
		);
		return () => {
			isShown = false;
		};
	}, [rollouts, id, status, version]);
	if (!devices) return <p class="hint">Reading…</p>;
	if (devices.length === 0) return <p class="hint">None any more.</p>;
	const byId = new Map(devices.map((device) => [device.deviceId, device]));
	return (
		<div class="picker-list">
			<Grid label={`${capital(deviceWords[status])} devices`} keys={[...byId.keys()]} height={40} gap={0}>
				{(key) => (
					<div class="row">
						<DeviceLink deviceKey={key} />
						<span class="hint">{sentenceOf(head, byId.get(key))}</span>
					</div>
				)}
			</Grid>
		</div>
	);
}

function sentenceOf({ version }: RolloutHead, device: RolloutDevice | undefined): string {
	if (!device) return "";
	const { reason, soakSecondsLeft, attempts } = device;
	if (reason) return sentence(reason);
	if (soakSecondsLeft !== null) return `Runs ${version}, ${watchWords(soakSecondsLeft)}.`;
	return attempts > 1 ? `${attempts} attempts` : "";
}
