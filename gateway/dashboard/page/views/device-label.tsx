/** A device's name, room and note: shown, and edited in their place. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ask } from "../app/gateway.js";
import { useApp, useIsLive } from "../app/hooks.js";
import type { Entry } from "../model/fleet.js";

export function DeviceLabel({ entry: { session } }: { entry: Entry }) {
	const [isOpen, setIsOpen] = useState(false);
	const button = useRef<HTMLButtonElement>(null);
	const { deviceId, name, room, note } = session;
	const close = () => {
		setIsOpen(false);
		button.current?.focus();
	};
	return (
		<div class="label">
			<div class="title">
				<h1>{name ?? deviceId ?? "Not named yet"}</h1>
				{deviceId !== null && (
					<button
						ref={button}
						type="button"
						class="quiet small"
						aria-expanded={isOpen}
						aria-label="Edit name, room and note"
						onClick={() => setIsOpen(!isOpen)}
					>
						Edit
					</button>
				)}
			</div>
			{isOpen && deviceId !== null && (
				<LabelForm deviceId={deviceId} name={name} room={room} note={note} onEnd={close} />
			)}
			{!isOpen && (room !== undefined || name !== undefined) && (
				<p class="facts">
					{room !== undefined && <span>{room}</span>}
					{name !== undefined && <span>{deviceId}</span>}
				</p>
			)}
			{!isOpen && note !== undefined && <p class="note">{note}</p>}
		</div>
	);
}

interface LabelFormProps {
	readonly deviceId: string;
	readonly name: string | undefined;
	readonly room: string | undefined;
	readonly note: string | undefined;
	readonly onEnd: () => void;
}

function LabelForm({ deviceId, name, room, note, onEnd }: LabelFormProps) {
	const { fleet } = useApp();
	const isLive = useIsLive();
	const id = useId();
	const first = useRef<HTMLInputElement>(null);
	const [isSaving, setIsSaving] = useState(false);
	const [problem, setProblem] = useState("");
	useEffect(() => first.current?.select(), []);
	const rooms = new Set(fleet.all().flatMap(({ session }) => session.room ?? []));
	const save = async (event: SubmitEvent) => {
		event.preventDefault();
		// Not by a disabled button, which would lose the keyboard's focus.
		if (isSaving || !(event.currentTarget instanceof HTMLFormElement)) return;
		const form = new FormData(event.currentTarget);
		const body = { name: textOf(form, "name"), room: textOf(form, "room"), note: textOf(form, "note") };
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
			class="label-form"
			autocomplete="off"
			onSubmit={save}
			onKeyDown={({ key }) => key === "Escape" && onEnd()}
		>
			<div class="field">
				<label for={`${id}-name`}>Name</label>
				<input
					ref={first}
					id={`${id}-name`}
					name="name"
					type="text"
					maxLength={64}
					defaultValue={name}
					placeholder={deviceId}
				/>
			</div>
			<div class="field">
				<label for={`${id}-room`}>Room</label>
				<input
					id={`${id}-room`}
					name="room"
					type="text"
					maxLength={64}
					defaultValue={room}
					list={`${id}-rooms`}
				/>
				<datalist id={`${id}-rooms`}>
					{[...rooms].sort().map((one) => (
						<option key={one} value={one} />
					))}
				</datalist>
			</div>
			<div class="field">
				<label for={`${id}-note`}>Note</label>
				<textarea id={`${id}-note`} name="note" rows={3} maxLength={500} defaultValue={note} />
			</div>
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

function textOf(form: FormData, name: string): string {
	const value = form.get(name);
	return typeof value === "string" ? value.trim() : "";
}
