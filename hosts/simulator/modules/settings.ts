/** Persistent settings, stored in a file by the panel (panels/parts/device-store.js). */

import type { Panel, PanelOptions } from "simulator/panel";
import type { KeyValueStore } from "../../../device/host.js";

export class SettingsStore implements KeyValueStore {
	readonly #panel: Panel;
	readonly #values: Map<string, string>;

	constructor(options: PanelOptions) {
		this.#panel = options.panel;
		this.#values = new Map(Object.entries(options.boot.settings));
	}

	read(key: string): string | undefined {
		return this.#values.get(key);
	}

	write(key: string, value: string): void {
		if (key.length > 15) throw new RangeError("key too long");
		this.#values.set(key, value);
		this.#panel.post({ setting: { name: key, value } });
	}

	delete(key: string): void {
		this.#values.delete(key);
		this.#panel.post({ setting: { name: key, value: null } });
	}

	close(): void {}
}
