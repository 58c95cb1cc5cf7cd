/** Firmware: uploads, the catalog, and the updates of devices. */

import { bytes } from "../../../api/client/words.js";
import type { Release } from "../../../api/firmware.js";
import { listedDevices, useApp, useFirmware } from "../app/hooks.js";
import { Panel } from "../parts/panel.js";
import { Problem } from "../parts/problem.js";
import { UploadPanel } from "./firmware-upload.js";
import { RolloutForm } from "./rollout-form.js";
import { Rollouts } from "./rollouts.js";
import { UpdateHistory } from "./update-history.js";

const historyShown = 30;

/** @param search as in an address: "?devices=" with ids, `selected` for those selected in the fleet, or empty */
export function FirmwareView({ search }: { search: string }) {
	const { firmware, selection } = useApp();
	const devices = new URLSearchParams(search).get("devices") ?? "";
	const chosen = listedDevices(devices, selection.keys);
	useFirmware();
	return (
		<div class="firmware">
			<h1 class="visually-hidden">Firmware</h1>
			<Problem>{firmware.problem}</Problem>
			<div class="column">
				<RolloutForm key={devices} devices={chosen} />
				<Rollouts />
			</div>
			<div class="column">
				<UploadPanel />
				<Releases />
				<Panel title="History" look="late">
					{firmware.history.length === 0 && <p class="hint">No device has been updated yet.</p>}
					<UpdateHistory updates={firmware.history.slice(0, historyShown)} />
				</Panel>
			</div>
		</div>
	);
}

function Releases() {
	const { catalog } = useApp().firmware;
	return (
		<Panel title="Releases">
			{catalog && catalog.releases.length === 0 && (
				<p class="hint">
					None yet. A release lies in the gateway's <code>releases/</code> folder, named in its{" "}
					<code>catalog.json</code>.
				</p>
			)}
			<ul class="releases">
				{catalog?.releases.map((release) => (
					<li key={release.version}>
						<ReleaseEntry release={release} isLatest={release.version === catalog.latest} />
					</li>
				))}
			</ul>
		</Panel>
	);
}

function ReleaseEntry({ release, isLatest }: { release: Release; isLatest: boolean }) {
	const { version, date, notes, images } = release;
	return (
		<>
			<h3>
				{version} {isLatest && <span class="tag">latest</span>} <time>{date}</time>
			</h3>
			{notes && <p class="notes">{notes}</p>}
			<p class="facts">
				{images.map(({ model, chip, size, path }) => (
					<span key={path}>
						{model} · {chip} · {bytes(size)}
					</span>
				))}
			</p>
		</>
	);
}
