/** Row of a schedule or of quiet hours: description, state and buttons. */

import type { ComponentChildren } from "preact";
import type { Action } from "../../../api/commands.js";
import { Button } from "../parts/button.js";

interface TimeRowProps {
	readonly title: string;
	/** Texts; false ones are omitted. */
	readonly facts: readonly (string | false)[];
	/** Action that the person must be permitted. */
	readonly action: Action;
	readonly isOn: boolean;
	/** Absent for a timer, which can only be canceled. */
	readonly onToggle?: (() => Promise<void>) | undefined;
	readonly onEdit: () => void;
	readonly onDelete: () => Promise<void>;
	readonly children?: ComponentChildren;
}

export function ScheduleRow(props: TimeRowProps) {
	const { title, facts, action, isOn, onToggle, onEdit, onDelete, children } = props;
	const text = facts.filter(Boolean).join(" · ");
	const verb = onToggle ? "Delete" : "Cancel";
	const question = onToggle && {
		title: `Delete ${title}?`,
		text: <p>{text}</p>,
		loss: { do: "Delete", keep: "Keep it" },
	};
	return (
		<li>
			<div>
				<strong>{title}</strong>
				<p>{text}</p>
				{children}
			</div>
			<div class="actions">
				{onToggle && (
					<>
						<Button look="small" label={`On: ${title}`} action={action} isPressed={isOn} onClick={onToggle}>
							On
						</Button>
						<Button look="small" label={`Edit ${title}`} action={action} onClick={onEdit}>
							Edit
						</Button>
					</>
				)}
				<Button
					look="small"
					label={`${verb} ${title}`}
					action={action}
					question={question}
					onClick={onDelete}
				>
					{verb}
				</Button>
			</div>
		</li>
	);
}
