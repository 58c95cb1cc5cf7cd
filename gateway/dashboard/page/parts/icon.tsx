/** Icon of lucide-static. The text or accessible name beside it says what it means. */

import { h } from "preact";

interface IconProps {
	/** Import of `lucide-static/icons/<name>.svg`. */
	readonly of: readonly (readonly [tag: string, attributes: Readonly<Record<string, string>>])[];
	/** Width and height in px. Default: 20. */
	readonly size?: number;
}

export function Icon({ of, size = 20 }: IconProps) {
	return (
		<svg class="icon" viewBox="0 0 24 24" width={size} height={size} aria-hidden="true">
			{of.map(([tag, attributes]) => h(tag, attributes))}
		</svg>
	);
}
