/** Title of the browser's tab. */

import { useEffect } from "preact/hooks";

/** @param title undefined if another component sets it */
export function useTitle(title: string | undefined): void {
	useEffect(() => {
		if (title !== undefined) document.title = `${title} · Device gateway`;
	}, [title]);
}
