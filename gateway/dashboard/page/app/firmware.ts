/** What the gateway holds to update with: asked for when a view needs it, kept, and told to the views. */

import type { Catalog, PastUpdate, UploadStatus } from "../model/messages.js";
import { type Firmware, firmwareOf } from "../model/outdated.js";
import { ask, problemDetail } from "./gateway.js";

export type Upload =
	| { readonly name: "none" }
	/** @param percent 0 to 100, of what has been sent */
	| { readonly name: "sending"; readonly filename: string; readonly percent: number }
	| { readonly name: "checking"; readonly filename: string }
	| { readonly name: "refused"; readonly filename: string; readonly reason: string }
	| { readonly name: "taken"; readonly filename: string };

export class FirmwareStore {
	readonly #onChanged: () => void;
	catalog: Catalog | undefined;
	status: UploadStatus | undefined;
	/** The latest first. */
	history: readonly PastUpdate[] = [];
	/** Why something could not be read; undefined where all could. */
	problem: string | undefined;
	upload: Upload = { name: "none" };
	#sending: XMLHttpRequest | undefined;

	constructor(onChanged: () => void) {
		this.#onChanged = onChanged;
	}

	/** Everything that a device can be updated to. */
	get choices(): readonly Firmware[] {
		return firmwareOf(this.catalog, this.status);
	}

	/** The catalog's latest release. */
	get latest(): Firmware | undefined {
		const latest = this.catalog?.latest;
		return this.choices.find(({ selector }) => selector === latest);
	}

	/** Reads everything from the gateway again. */
	async refresh(): Promise<void> {
		try {
			const [catalog, status, history] = await Promise.all([
				ask<Catalog>("ota/catalog"),
				ask<UploadStatus>("ota/status"),
				ask<{ updates: readonly PastUpdate[] }>("ota/history"),
			]);
			this.catalog = catalog;
			this.status = status;
			this.history = history.updates;
			this.problem = undefined;
		} catch (error) {
			this.problem = error instanceof Error ? error.message : String(error);
		}
		this.#onChanged();
	}

	/** Uploads a file, with its signature; XMLHttpRequest, since fetch does not tell how much has been sent. */
	send(file: File, signature: File | undefined): void {
		this.#sending?.abort();
		const { name: filename } = file;
		const request = new XMLHttpRequest();
		const form = new FormData();
		form.append("firmware", file);
		if (signature) form.append("signature", signature);
		const show = (upload: Upload) => {
			if (this.#sending !== request) return;
			this.upload = upload;
			this.#onChanged();
		};
		request.upload.addEventListener("progress", ({ loaded, total }) => {
			show({ name: "sending", filename, percent: Math.floor((100 * loaded) / (total || 1)) });
		});
		request.upload.addEventListener("load", () => show({ name: "checking", filename }));
		request.addEventListener("load", () => {
			if (request.status === 201) show({ name: "taken", filename });
			else show({ name: "refused", filename, reason: problemDetail(request.status, request.responseText) });
			void this.refresh();
		});
		request.addEventListener("error", () => {
			show({ name: "refused", filename, reason: "The connection to the gateway broke off." });
		});
		this.#sending = request;
		show({ name: "sending", filename, percent: 0 });
		request.open("POST", "ota/upload");
		request.send(form);
	}
}
