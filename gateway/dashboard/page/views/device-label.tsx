/** A device's label: shown, and edited in a dialog. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { ask } from "../../../api/client/request.js";
import { type Label, label, labelFields } from "../../../api/label.js";
import { roomAddress, useApp, useMayChange } from "../app/hooks.js";
import { roomsOf } from "../model/filter.js";
import { Field, textOf } from "../parts/field.js";
import { Problem } from "../parts/problem.js";
import { useRequest } from "../parts/use-request.js";

/** A new field of the label does not compile until it is here. */
const titles: Readonly<Record<keyof Label, string>> = { name: "Name", room: "Room", note: "Note" };
/** "name, room and note" */
const allTitles = new Intl.ListFormat("en-GB").format(
	labelFields.map((field) => titles[field].toLowerCase()),
);

/** In the head of a device's page; edited in a dialog, so that nothing moves. */
export function DeviceLabel({ entry: { session } }: { entry: Entry }) {
	const [isOpen, setIsOpen] = useState(false);
	const dialog = useRef<HTMLDialogElement>(null);
	const { deviceId, name, room, note } = session;
	useEffect(() => {
		if (isOpen) dialog.current?.showModal();
	}, [isOpen]);
	return (
		<>
			{room !== undefined && (
				<a class="room" href={roomAddress(room)}>
					{room}
				</a>
			)}
			<div class="title">
				<h1>{name ?? deviceId ?? "Not named yet"}</h1>
				{deviceId !== null && (
					<button
						type="button"
						class="quiet small"
						aria-haspopup="dialog"
						aria-label={`Edit ${allTitles}`}
						onClick={() => setIsOpen(true)}
					>
						Edit
					</button>
				)}
			</div>
			{note !== undefined && <p class="note">{note}</p>}
			{deviceId !== null && (
				<dialog
					ref={dialog}
					aria-label={`The ${allTitles} of ${name ?? deviceId}`}
					onClose={() => setIsOpen(false)}
				>
					{isOpen && <LabelForm deviceId={deviceId} given={session} onEnd={() => dialog.current?.close()} />}
				</dialog>
			)}
		</>
	);
}

interface LabelFormProps {
	readonly deviceId: string;
	readonly given: Label;
	readonly onEnd: () => void;
}

export function LabelForm({ deviceId, given, onEnd }: LabelFormProps) {
	const { fleet } = useApp();
	const mayChange = useMayChange();
	const form = useRef<HTMLFormElement>(null);
	const { run, isBusy, problem } = useRequest();
	useEffect(() => form.current?.querySelector("input")?.select(), []);
	const save = async (event: SubmitEvent) => {
		event.preventDefault();
		// Not by a disabled button, which would lose the keyboard's focus.
		if (isBusy || !(event.currentTarget instanceof HTMLFormElement)) return;
		const data = new FormData(event.currentTarget);
		const body = Object.fromEntries(labelFields.map((field) => [field, textOf(data, field)]));
		const path = `api/devices/${encodeURIComponent(deviceId)}`;
		if (await run(() => ask(path, { method: "PATCH", body }))) onEnd();
	};
	return (
		<form ref={form} class="label-form" autocomplete="off" onSubmit={save}>
			{labelFields.map((field) => (
				<Field
					key={field}
					name={field}
					label={titles[field]}
					type={field === "note" ? "lines" : "text"}
					maxLength={label.fields[field].maxLength}
					initial={given[field]}
					placeholder={field === "name" ? deviceId : undefined}
					{...(field === "room" && { known: roomsOf(fleet.all()) })}
				/>
			))}
			<Problem>{problem}</Problem>
			<div class="actions">
				<button type="submit" class="primary" disabled={!mayChange}>
					Save
				</button>
				<button type="button" onClick={onEnd}>
					Cancel
				</button>
			</div>
		</form>
	);
}
