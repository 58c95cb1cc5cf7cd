/** Moves the keyboard's focus within a long list, to what may have to be rendered first. */

import { useLayoutEffect, useRef } from "preact/hooks";

/** @param find what gets the focus; null: it is not rendered yet. @returns gives it the focus, now or after a rendering */
export function useFocusAt(find: (key: string) => HTMLElement | null): (key: string) => void {
	const wanted = useRef<string | undefined>(undefined);
	const focus = () => {
		const element = wanted.current === undefined ? null : find(wanted.current);
		if (!element) return;
		wanted.current = undefined;
		element.focus();
	};
	useLayoutEffect(focus);
	return (key) => {
		wanted.current = key;
		focus();
	};
}
