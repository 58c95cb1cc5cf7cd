/** A device's label, shown and edited in its place. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { ask } from "../../../api/client/request.js";
import { type Label, label, labelFields } from "../../../api/label.js";
import { useApp, useIsLive } from "../app/hooks.js";

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

export function DeviceLabel({ entry: { session } }: { entry: Entry }) {
	const [isOpen, setIsOpen] = useState(false);
	const button = useRef<HTMLButtonElement>(null);
	const { deviceId } = session;
	const [heading] = shownAs("heading", session);
	const facts = [...shownAs("fact", session), ...(heading !== undefined && deviceId ? [deviceId] : [])];
	const close = () => {
		setIsOpen(false);
		button.current?.focus();
	};
	return (
		<div class="label">
			<div class="title">
				<h1>{heading ?? deviceId ?? "Not named yet"}</h1>
				{deviceId !== null && (
					<button
						ref={button}
						type="button"
						class="quiet small"
						aria-expanded={isOpen}
						aria-label={`Edit ${titles}`}
						onClick={() => setIsOpen(!isOpen)}
					>
						Edit
					</button>
				)}
			</div>
			{isOpen && deviceId !== null && <LabelForm deviceId={deviceId} given={session} onEnd={close} />}
			{!isOpen && facts.length > 0 && (
				<p class="facts">
					{facts.map((text, index) => (
						<span key={index}>{text}</span>
					))}
				</p>
			)}
			{!isOpen &&
				shownAs("text", session).map((text) => (
					<p key={text} class="note">
						{text}
					</p>
				))}
		</div>
	);
}

interface LabelFormProps {
	readonly deviceId: string;
	readonly given: Label;
	readonly onEnd: () => void;
}

function LabelForm({ deviceId, given, onEnd }: LabelFormProps) {
	const isLive = useIsLive();
	const id = useId();
	const form = useRef<HTMLFormElement>(null);
	const [isSaving, setIsSaving] = useState(false);
	const [problem, setProblem] = useState("");
	useEffect(() => form.current?.querySelector("input")?.select(), []);
	const save = async (event: SubmitEvent) => {
		event.preventDefault();
		// Not by a disabled button, which would lose the keyboard's focus.
		if (isSaving || !(event.currentTarget instanceof HTMLFormElement)) return;
		const data = new FormData(event.currentTarget);
		const body = Object.fromEntries(labelFields.map((field) => [field, textOf(data, field)]));
		setIsSaving(true);
		setProblem("");
		try {
			await ask(`api/devices/${encodeURIComponent(deviceId)}`, { method: "PATCH", body });
			onEnd();
		} catch (error) {
			setIsSaving(false);
			setProblem(error instanceof Error ? error.message : String(error));
		}
	};
	return (
		<form
			ref={form}
			class="label-form"
			autocomplete="off"
			onSubmit={save}
			onKeyDown={({ key }) => key === "Escape" && onEnd()}
		>
			{labelFields.map((field) => (
				<div key={field} class="field">
					<label for={`${id}-${field}`}>{looks[field].title}</label>
					<FieldInput
						id={`${id}-${field}`}
						field={field}
						value={given[field]}
						placeholder={looks[field].shownAs === "heading" ? deviceId : undefined}
					/>
				</div>
			))}
			<p class="problem" role="alert">
				{problem}
			</p>
			<div class="actions">
				<button type="submit" class="primary" disabled={!isLive}>
					Save
				</button>
				<button type="button" onClick={onEnd}>
					Cancel
				</button>
			</div>
		</form>
	);
}

interface FieldInputProps {
	readonly id: string;
	readonly field: keyof Label;
	readonly value: string | undefined;
	readonly placeholder: string | undefined;
}

function FieldInput({ id, field, value, placeholder }: FieldInputProps) {
	const { fleet } = useApp();
	const { shownAs, isShared } = looks[field];
	const common = {
		id,
		name: field,
		maxLength: label.fields[field].maxLength,
		defaultValue: value,
		placeholder,
	};
	if (shownAs === "text") return <textarea {...common} rows={3} />;
	if (!isShared) return <input {...common} type="text" />;
	const known = new Set(fleet.all().flatMap(({ session }) => session[field] ?? []));
	return (
		<>
			<input {...common} type="text" list={`${id}-known`} />
			<datalist id={`${id}-known`}>
				{[...known].sort().map((one) => (
					<option key={one} value={one} />
				))}
			</datalist>
		</>
	);
}

function textOf(form: FormData, name: string): string {
	const value = form.get(name);
	return typeof value === "string" ? value.trim() : "";
}
