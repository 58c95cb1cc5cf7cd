/** Row of a schedule or of quiet hours: description, switch and buttons. */

import pencil from "lucide-static/icons/pencil.svg";
import trash from "lucide-static/icons/trash-2.svg";
import type { ComponentChildren, ComponentProps } from "preact";
import type { Action } from "../../../api/commands.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Item } from "../parts/item.js";

interface TimeRowProps {
	readonly icon: ComponentProps<typeof Icon>["of"];
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
	const { icon, title, facts, action, isOn, onToggle, onEdit, onDelete, children } = props;
	const buttons = onToggle ? (
		<>
			<Button look="switch" label={`On: ${title}`} action={action} isPressed={isOn} onClick={onToggle}>
				<span />
			</Button>
			<Button look="icon-button quiet" label={`Edit ${title}`} action={action} onClick={onEdit}>
				<Icon of={pencil} />
			</Button>
			<Button
				look="icon-button quiet"
				label={`Delete ${title}`}
				action={action}
				question={{
					title: `Delete ${title}?`,
					text: facts.filter(Boolean).join(" · "),
					loss: { do: "Delete", keep: "Cancel" },
				}}
				onClick={onDelete}
			>
				<Icon of={trash} />
			</Button>
		</>
	) : (
		<Button label={`Cancel ${title}`} action={action} onClick={onDelete}>
			Cancel
		</Button>
	);
	return (
		<Item mark={<Icon of={icon} />} title={title} facts={facts} actions={buttons} look={isOn ? "" : "off"}>
			{children}
		</Item>
	);
}
