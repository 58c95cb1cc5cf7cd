/** Label of a device with a dialog to edit it. */

import pencil from "lucide-static/icons/pencil.svg";
import { useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { capital } from "../../../api/client/words.js";
import { type Label, label, labelFields, labelTexts } from "../../../api/label.js";
import { cleanText } from "../../../api/text.js";
import { changeLabel } from "../app/change-label.js";
import { useApp } from "../app/hooks.js";
import { roomsOf } from "../model/rooms.js";
import { parseTagList, tagsInUse } from "../model/tags.js";
import { Button } from "../parts/button.js";
import { Field } from "../parts/field.js";
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
	const [texts, setTexts] = useState<Partial<Record<keyof Label, string>>>({
		...known,
		tags: known.tags?.join(" ") ?? "",
	});
	const textOf = (name: keyof Label) => cleanText(texts[name] ?? "");
	const field = (name: keyof Label) => ({
		label: capital(name),
		value: texts[name] ?? "",
		onInput: (value: string) => setTexts({ ...texts, [name]: value }),
	});
	const save = async () => {
		const wanted = Object.fromEntries(labelTexts.map((name) => [name, textOf(name)]));
		await changeLabel(deviceId, known, { ...wanted, tags: parseTagList(textOf("tags")) });
	};
	return (
		<FormDialog title={`Edit ${known.name ?? deviceId}`} onSave={save} onClosed={onClosed}>
			{labelTexts.map((name) => (
				<Field
					key={name}
					{...field(name)}
					type={name === "note" ? "lines" : "text"}
					maxLength={label.fields[name].maxLength}
					placeholder={name === "name" ? deviceId : undefined}
					{...(name === "room" && { known: roomsOf(fleet.all()) })}
				/>
			))}
			<Field
				{...field("tags")}
				placeholder="shop-berlin beta"
				hint={`Separate tags with spaces. ${tagsInUse(fleet.all())}`}
			/>
		</FormDialog>
	);
}
