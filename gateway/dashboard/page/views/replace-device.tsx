/** Replacement of a device by another board: button, dialog, and records of replaced boards. */

import { useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { when } from "../../../api/client/words.js";
import { deviceAddress } from "../app/addresses.js";
import { request } from "../app/gateway.js";
import { useApp, useHistory, useMayChange } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";
import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";
import { FormDialog } from "../parts/form-dialog.js";
import { History } from "../parts/history.js";
import { Panel } from "../parts/panel.js";
import { eventsOf } from "./device-events.js";

/** Rendered only if the gateway supports replacement. */
export function ReplaceButton({ entry }: { readonly entry: Entry }) {
	const [isOpen, setIsOpen] = useState(false);
	const mayChange = useMayChange();
	if (!useHistory(entry.key)?.details.before || !mayChange) return null;
	return (
		<>
			<button type="button" class="small" aria-haspopup="dialog" onClick={() => setIsOpen(true)}>
				Replace…
			</button>
			{isOpen && <ReplaceDialog entry={entry} onClosed={() => setIsOpen(false)} />}
		</>
	);
}

function ReplaceDialog({ entry, onClosed }: { readonly entry: Entry; readonly onClosed: () => void }) {
	const { fleet } = useApp();
	const { key } = entry;
	const candidates = fleet.all().filter((device) => device.key !== key && device.session.deviceId !== null);
	const [typed, setTyped] = useState(() => likelyKey(candidates, entry));
	const chosen = candidates.find((device) => [device.key, device.session.name].includes(typed.trim()));
	return (
		<FormDialog
			title={`Replace ${nameOf(entry)}`}
			verb="Replace"
			isComplete={chosen !== undefined}
			onSave={async () => {
				if (!chosen) return;
				await request("POST /api/devices/:deviceId/replace", {
					params: { deviceId: key },
					body: { by: chosen.key },
				});
				location.hash = deviceAddress(chosen.key);
			}}
			onClosed={onClosed}
		>
			<Field
				label="New device"
				value={typed}
				onInput={setTyped}
				known={candidates.filter(isNew).map((device) => device.key)}
				problem={typed && !chosen ? "Device not found. A new device must connect first." : undefined}
				hint={chosen ? describe(chosen, entry) : "ID or name."}
			/>
			<p>
				The new device takes over name, room, tags, note, volume, brightness, haptics, quiet hours, schedules
				and rollouts. {key} is rejected from now on. Its history moves to the new device, where you can undo
				this.
			</p>
		</FormDialog>
	);
}

/** Whether a device is new: connected, without name and room. */
function isNew({ session: { connected, name, room } }: Entry): boolean {
	return connected && name === undefined && room === undefined;
}

/** Key of the only new device of the same model; empty if there is none or several. */
function likelyKey(all: readonly Entry[], { session: { model } }: Entry): string {
	const [only, other] = all.filter((device) => isNew(device) && device.session.model === model);
	return only && !other ? only.key : "";
}

function describe({ session: { model, connected, name } }: Entry, { session: old }: Entry): string {
	const facts = [`${model ?? "Unknown model"}, ${connected ? "connected" : "offline"}`];
	if (name !== undefined) facts.push(`now called ${name}`);
	if (model !== old.model) facts.push(`the old device is ${old.model}: unsupported settings are omitted`);
	return `${facts.join(", ")}.`;
}

/** Boards that a device replaced, each with its history. */
export function BeforePanels({ deviceKey }: { readonly deviceKey: string }) {
	const app = useApp();
	const before = useHistory(deviceKey)?.details.before ?? [];
	const past = app.history(deviceKey);
	return before.map((board) => (
		<Panel key={board.deviceId} title={`Replaced board: ${board.deviceId}`} look="past-panel stack">
			<p>
				{board.model} with {board.firmwareVersion}, replaced by {board.who}, {when(board.at)}.
			</p>
			<History label={`History of ${board.deviceId}, the latest first`} items={eventsOf(board)} />
			<div class="actions">
				<Button
					isChange
					look="small"
					question={{
						title: `Allow ${board.deviceId} again?`,
						text: "It becomes a new device and this history is deleted. Transferred settings stay here.",
						loss: { do: "Allow", keep: "Keep rejecting" },
					}}
					onClick={() => past.after(request("DELETE /api/devices/:deviceId/replace", { params: board }))}
				>
					Allow again
				</Button>
			</div>
		</Panel>
	));
}
