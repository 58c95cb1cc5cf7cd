/** List of facts with a name, a value and an optional detail. */

import type { ComponentChildren } from "preact";

export type Fact = readonly [name: string, value: ComponentChildren, number?: string];

export function FactList({ facts }: { facts: readonly Fact[] }) {
	return (
		<dl class="about">
			{facts.map(([name, value, number]) => (
				<div key={name}>
					<dt>{name}</dt>
					<dd>
						<span>{value}</span>
						{number !== undefined && <small>{number}</small>}
					</dd>
				</div>
			))}
		</dl>
	);
}
