/** A device's label: shown, and edited in a dialog. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { ask } from "../../../api/client/request.js";
import { type Label, label, labelFields } from "../../../api/label.js";
import { useApp, useMayChange } from "../app/hooks.js";
import { Field, textOf } from "../parts/field.js";
import { Problem } from "../parts/problem.js";
import { useRequest } from "../parts/use-request.js";

interface FieldLook {
	readonly title: string;
	readonly shownAs: "heading" | "fact" | "text";
	/** Whether the values of other devices are suggested. */
	readonly isShared?: true;
}

/** A new field of the label does not compile until it is here. */
const looks: Readonly<Record<keyof Label, FieldLook>> = {
	name: { title: "Name", shownAs: "heading" },
	room: { title: "Room", shownAs: "fact", isShared: true },
	note: { title: "Note", shownAs: "text" },
};
/** "name, room and note" */
const titles = new Intl.ListFormat("en-GB").format(
	labelFields.map((field) => looks[field].title.toLowerCase()),
);

function shownAs(place: FieldLook["shownAs"], given: Label): readonly string[] {
	return labelFields.filter((field) => looks[field].shownAs === place).flatMap((field) => given[field] ?? []);
}

/** In the head of a device's page; edited in a dialog, so that nothing moves. */
export function DeviceLabel({ entry: { session } }: { entry: Entry }) {
	const [isOpen, setIsOpen] = useState(false);
	const dialog = useRef<HTMLDialogElement>(null);
	const { deviceId } = session;
	const [heading] = shownAs("heading", session);
	const facts = shownAs("fact", session);
	const close = () => dialog.current?.close();
	useEffect(() => {
		if (isOpen) dialog.current?.showModal();
	}, [isOpen]);
	return (
		<div class="label">
			<div class="title">
				<h1>{heading ?? deviceId ?? "Not named yet"}</h1>
				{facts.map((text) => (
					<span key={text} class="room">
						{text}
					</span>
				))}
				{deviceId !== null && (
					<button
						type="button"
						class="quiet small"
						aria-haspopup="dialog"
						aria-label={`Edit ${titles}`}
						onClick={() => setIsOpen(true)}
					>
						Edit
					</button>
				)}
			</div>
			{shownAs("text", session).map((text) => (
				<p key={text} class="note">
					{text}
				</p>
			))}
			{deviceId !== null && (
				<dialog
					ref={dialog}
					aria-label={`The ${titles} of ${heading ?? deviceId}`}
					onClose={() => setIsOpen(false)}
				>
					{isOpen && <LabelForm deviceId={deviceId} given={session} onEnd={close} />}
				</dialog>
			)}
		</div>
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
			{labelFields.map((field) => {
				const { title, shownAs: place, isShared } = looks[field];
				return (
					<Field
						key={field}
						name={field}
						label={title}
						type={place === "text" ? "lines" : "text"}
						maxLength={label.fields[field].maxLength}
						initial={given[field]}
						placeholder={place === "heading" ? deviceId : undefined}
						{...(isShared && { known: valuesOf(field, fleet.all()) })}
					/>
				);
			})}
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

/** What other devices have there. */
function valuesOf(field: keyof Label, entries: readonly Entry[]): readonly string[] {
	return [...new Set(entries.flatMap(({ session }) => session[field] ?? []))].sort();
}
