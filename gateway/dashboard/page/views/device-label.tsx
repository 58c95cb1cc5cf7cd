/** Label of a device with a dialog to edit it. */

import pencil from "lucide-static/icons/pencil.svg";
import { useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { capital } from "../../../api/client/words.js";
import { type Label, label, labelFields, labelTexts } from "../../../api/label.js";
import { changeLabel } from "../app/change-label.js";
import { useApp } from "../app/hooks.js";
import { roomsOf } from "../model/rooms.js";
import { parseTagList, tagsInUse } from "../model/tags.js";
import { Button } from "../parts/button.js";
import { Field, textOf } from "../parts/field.js";
import { FormDialog } from "../parts/form-dialog.js";
import { Icon } from "../parts/icon.js";
import { TagLinks } from "../parts/tags.js";

const allFields = new Intl.ListFormat("en-GB").format(labelFields);

/** Note, tags and the button that edits the label. */
export function DeviceLabel({ entry: { session } }: { entry: Entry }) {
	const [edited, setEdited] = useState<Label>();
	const { deviceId, note, tags } = session;
	return (
		<>
			{note !== undefined && <p class="note">{note}</p>}
			{tags && <TagLinks tags={tags} />}
			{deviceId !== null && (
				<Button
					look="icon-button quiet edit"
					isChange
					label={`Edit ${allFields}`}
					onClick={() => setEdited(session)}
				>
					<Icon of={pencil} />
				</Button>
			)}
			{deviceId !== null && edited && (
				<LabelDialog deviceId={deviceId} known={edited} onClosed={() => setEdited(undefined)} />
			)}
		</>
	);
}

interface LabelDialogProps {
	readonly deviceId: string;
	/** Label when the dialog was opened; another person may change it meanwhile. */
	readonly known: Label;
	readonly onClosed: () => void;
}

export function LabelDialog({ deviceId, known, onClosed }: LabelDialogProps) {
	const { fleet } = useApp();
	const save = async (form: FormData) => {
		const texts = Object.fromEntries(labelTexts.map((field) => [field, textOf(form, field)]));
		await changeLabel(deviceId, known, { ...texts, tags: parseTagList(textOf(form, "tags")) });
	};
	return (
		<FormDialog title={`Edit ${known.name ?? deviceId}`} onSave={save} onClosed={onClosed}>
			{labelTexts.map((field) => (
				<Field
					key={field}
					name={field}
					label={capital(field)}
					type={field === "note" ? "lines" : "text"}
					maxLength={label.fields[field].maxLength}
					initial={known[field]}
					placeholder={field === "name" ? deviceId : undefined}
					{...(field === "room" && { known: roomsOf(fleet.all()) })}
				/>
			))}
			<Field
				name="tags"
				label="Tags"
				initial={known.tags?.join(" ")}
				placeholder="shop-berlin beta"
				hint={`Separate tags with spaces. ${tagsInUse(fleet.all())}`}
			/>
		</FormDialog>
	);
}
