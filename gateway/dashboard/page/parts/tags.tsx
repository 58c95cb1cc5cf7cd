/** Tags of a device. */
import { viewAddress } from "../app/addresses.js";

/** Tags in one line. */
export function Tags({ tags = [] }: { readonly tags: readonly string[] | undefined }) {
	if (tags.length === 0) return null;
	return (
		<span class="tags">
			{tags.map((tag) => (
				<span key={tag} class="tag">
					{tag}
				</span>
			))}
		</span>
	);
}

/** Tags that link to the devices with that tag. */
export function TagLinks({ tags }: { readonly tags: readonly string[] }) {
	return (
		<ul class="tags" aria-label="Tags">
			{tags.map((tag) => (
				<li key={tag}>
					<a class="tag" href={viewAddress("", { tags: tag })}>
						{tag}
					</a>
				</li>
			))}
		</ul>
	);
}
