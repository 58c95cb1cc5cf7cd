/** Returns a shortcut as this computer writes it: "⌘K" or "Ctrl K". */
export function shortcut(key: string): string {
	return `${/Mac|iP/.test(navigator.platform) ? "⌘" : "Ctrl "}${key}`;
}
