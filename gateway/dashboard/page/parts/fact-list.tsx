/** List of facts with a name, a value and an optional detail. */

import type { ComponentChildren } from "preact";

export type Fact = readonly [name: string, value: ComponentChildren, detail?: string];

export function FactList({ facts }: { facts: readonly Fact[] }) {
	return (
		<dl class="about">
			{facts.map(([name, value, detail]) => (
				<div key={name}>
					<dt>{name}</dt>
					<dd>
						<span>{value}</span>
						{detail !== undefined && <small>{detail}</small>}
					</dd>
				</div>
			))}
		</dl>
	);
}
