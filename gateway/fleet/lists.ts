/**
 * Notifies monitors of changes to lists that they read over HTTP, so that they need not poll. The catalog is
 * a file that changes without a request, so it is polled here once for all monitors.
 */

import { type FrameOf, frameText } from "../api/frames.js";
import type { Listeners } from "../events.js";
import type { Device } from "../sessions/device.js";
import type { FleetCore } from "./limits.js";

type List = FrameOf<"list_update">["list"];

const listsChannel = "lists";

export class Lists {
	readonly #core: Pick<FleetCore, "firmware" | "monitors" | "limits">;
	readonly #changed = new Set<List>();
	/** Latest known update status. */
	readonly #updates = new WeakMap<Device, string>();
	#offered: readonly unknown[] = [];
	#announcing: NodeJS.Timeout | undefined;
	#polling: NodeJS.Timeout | undefined;

	readonly listeners: Listeners = {
		sessionChanged: ({ device }, reason) => {
			if (!device || reason !== "ota") return;
			const { otaStatus } = device.metadata;
			// No list contains the progress.
			if (this.#updates.get(device) !== otaStatus) this.changed("firmware");
			this.#updates.set(device, otaStatus);
		},
	};

	constructor(core: Pick<FleetCore, "firmware" | "monitors" | "limits">) {
		this.#core = core;
	}

	async open(): Promise<void> {
		this.#offered = await this.#readOffered();
		this.#polling = setInterval(() => void this.#pollCatalog(), this.#core.limits.listPauseMs).unref();
	}

	close(): void {
		clearInterval(this.#polling);
		clearTimeout(this.#announcing);
	}

	changed(list: List): void {
		this.#changed.add(list);
		const { monitors, limits } = this.#core;
		this.#announcing ??= setTimeout(() => {
			this.#announcing = undefined;
			for (const list of this.#changed)
				monitors.broadcast(listsChannel, frameText<"list_update">({ type: "list_update", list }));
			this.#changed.clear();
		}, limits.listPauseMs).unref();
	}

	async #pollCatalog(): Promise<void> {
		const before = this.#offered;
		this.#offered = await this.#readOffered();
		if (this.#offered.some((selector, index) => selector !== before[index])) this.changed("firmware");
	}

	/** Returns the catalog and uploads, as different objects after a change. */
	async #readOffered(): Promise<readonly unknown[]> {
		const { catalog, uploads } = this.#core.firmware;
		return [await catalog.read(), uploads.current];
	}
}
