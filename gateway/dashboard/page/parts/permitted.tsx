/** Controls that only some roles may use. */

import type { ComponentChildren } from "preact";
import type { Action } from "../../../api/commands.js";
import { useDenial } from "../app/hooks.js";

interface PermittedProps {
	/** Action that the controls perform; default: any reserved for monitors. */
	readonly action?: Action;
	/** Renders nothing instead of the reason. */
	readonly isSilent?: boolean;
	readonly children: ComponentChildren;
}

/** Renders the reason instead if the person's role does not permit them. */
export function Permitted({ action, isSilent, children }: PermittedProps) {
	const denial = useDenial(action);
	if (denial === undefined) return <>{children}</>;
	return isSilent ? null : <p class="hint">{denial}.</p>;
}
