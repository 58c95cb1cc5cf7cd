/** Replacement of a device by another board: button, dialog, and records of replaced boards. */

import { useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { when } from "../../../api/client/words.js";
import { request } from "../app/gateway.js";
import { deviceAddress, useApp, useMayChange, usePast } from "../app/hooks.js";
import { nameOf } from "../model/filter.js";
import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";
import { History } from "../parts/history.js";
import { Panel } from "../parts/panel.js";
import { FormDialog } from "../parts/save-form.js";
import { eventsOf } from "./device-events.js";

/** Rendered only if the gateway supports replacement. */
export function ReplaceButton({ entry }: { readonly entry: Entry }) {
	const [isOpen, setIsOpen] = useState(false);
	const mayChange = useMayChange();
	if (!usePast(entry.key)?.details.before || !mayChange) return null;
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
	const { key, session } = entry;
	const candidates = fleet.all().filter((one) => one.key !== key && one.session.deviceId !== null);
	const [typed, setTyped] = useState(() => likelyKey(candidates, entry));
	const chosen = candidates.find((one) => [one.key, one.session.name].includes(typed.trim()));
	return (
		<FormDialog
			title={`Replace ${nameOf(entry)} by another device`}
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
				known={candidates.filter(isNew).map((one) => one.key)}
				problem={typed && !chosen ? "No device is called that. A new one has to connect first." : undefined}
				hint={chosen ? describe(chosen, session.model) : "Its id, or its name."}
			/>
			<p>
				The new device gets the old one's name, room, tags, note, volume, brightness and haptics, its quiet
				hours, and its places in times and rollouts. {key} is no longer let in; its history is kept with the
				new one, where this can be undone.
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
	const [only, other] = all.filter((one) => isNew(one) && one.session.model === model);
	return only && !other ? only.key : "";
}

function describe(
	{ session: { model, connected, name } }: Entry,
	oldModel: Entry["session"]["model"],
): string {
	const facts = [`${model ?? "Unknown model"}, ${connected ? "connected" : "away"}`];
	if (name !== undefined) facts.push(`now called ${name}`);
	if (model !== oldModel) facts.push(`the old one is ${oldModel}: what does not fit is left out`);
	return `${facts.join(", ")}.`;
}

/** Boards that a device replaced, each with its history. */
export function BeforePanels({ deviceKey }: { readonly deviceKey: string }) {
	const app = useApp();
	const before = usePast(deviceKey)?.details.before ?? [];
	const past = app.past(deviceKey);
	return before.map((board) => (
		<Panel key={board.deviceId} title={`Before: ${board.deviceId}`} look="past-panel stack">
			<p>
				{board.model} with {board.firmwareVersion}, replaced by {board.who}, {when(board.at)}.
			</p>
			<History label={`What happened to ${board.deviceId}, the latest first`} items={eventsOf(board)} />
			<div class="actions">
				<Button
					isChange
					look="small"
					question={{
						title: `Let ${board.deviceId} in again?`,
						text: (
							<p>
								It then is a new device, and this history of it is deleted. What has gone over stays here.
							</p>
						),
						loss: { do: "Let it in", keep: "Keep it out" },
					}}
					onClick={async () => {
						await request("DELETE /api/devices/:deviceId/replace", {
							params: { deviceId: board.deviceId },
						});
						await past.refresh();
					}}
				>
					Let it in again
				</Button>
			</div>
		</Panel>
	));
}
