/** Drop target and file picker. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

interface FileDropProps {
	/** Accepted types, as in the attribute of `input`. */
	readonly accept: string;
	readonly multiple?: boolean;
	readonly onFiles: (files: readonly File[]) => void;
	/** Prompt. */
	readonly children: ComponentChildren;
}

export function FileDrop({ accept, multiple = false, onFiles, children }: FileDropProps) {
	const [isOver, setIsOver] = useState(false);
	const onDrag = (event: DragEvent) => {
		event.preventDefault();
		setIsOver(event.type === "dragover");
	};
	return (
		<label
			class={`drop ${isOver ? "over" : ""}`}
			onDragOver={onDrag}
			onDragLeave={onDrag}
			onDrop={(event) => {
				onDrag(event);
				onFiles([...(event.dataTransfer?.files ?? [])]);
			}}
		>
			<input
				class="visually-hidden"
				type="file"
				accept={accept}
				multiple={multiple}
				onChange={({ currentTarget }) => {
					onFiles([...(currentTarget.files ?? [])]);
					currentTarget.value = "";
				}}
			/>
			{children}
		</label>
	);
}
