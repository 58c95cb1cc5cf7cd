/** Keyboard shortcuts, as a dialog. */

import { FactList } from "../parts/fact-list.js";
import { Sheet } from "../parts/sheet.js";
import { shortcut } from "../parts/shortcut.js";

export function Keys({ onClose }: { readonly onClose: () => void }) {
	const keys = [
		["/", "Search this view"],
		[shortcut("K"), "Search devices, rooms, views and actions"],
		[shortcut("Z"), "Undo the latest action"],
		["?", "Show these keys"],
		["↑ ↓", "Table: move between rows"],
		["Enter", "Table: open the device"],
		["Space", "Table: select the device"],
		["Shift Space", "Table: select a range"],
	] as const;
	return (
		<Sheet title="Keys" onClose={onClose}>
			<FactList facts={keys} />
		</Sheet>
	);
}
