/** The firmware that the gateway offers: requested when a view needs it, and kept for all views. */

import { ask, messageOf, problemDetail } from "../../../api/client/request.js";
import type { Catalog, PastUpdate, UploadStatus } from "../../../api/firmware.js";
import { type FindUpdate, type Firmware, firmwareOf, updatesOf } from "../model/outdated.js";

export interface Upload {
	/** It waits for the gateway to be reached. */
	readonly name: "waiting" | "sending" | "checking" | "refused" | "taken";
	readonly filename: string;
	/** 0 to 100, of what has been sent. */
	readonly percent?: number;
	/** Why it was refused. */
	readonly reason?: string;
}

export class FirmwareStore {
	readonly #onChanged: () => void;
	readonly #isLive: () => boolean;
	catalog: Catalog | undefined;
	/** By the catalog; another function with each new one. */
	findUpdate: FindUpdate = updatesOf(undefined);
	status: UploadStatus | undefined;
	/** The latest first. */
	history: readonly PastUpdate[] = [];
	/** Why something could not be read; undefined where all could. */
	problem: string | undefined;
	upload: Upload | undefined;
	#sending: XMLHttpRequest | undefined;
	/** Sends the file that waits. */
	#resume = () => {};

	/** @param isLive whether the gateway can be reached */
	constructor(onChanged: () => void, isLive: () => boolean) {
		this.#onChanged = onChanged;
		this.#isLive = isLive;
	}

	/** To be called when the gateway can be reached again. */
	onLive(): void {
		this.#resume();
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

	/**
	 * Reads everything from the gateway again.
	 * @param isWhole false: the catalog alone, unless a view has shown the rest
	 */
	async refresh(isWhole = true): Promise<void> {
		const isAll = isWhole || this.status !== undefined;
		try {
			const [catalog, status, history] = await Promise.all([
				ask<Catalog>("ota/catalog"),
				isAll ? ask<UploadStatus>("ota/status") : undefined,
				isAll ? ask<{ updates: readonly PastUpdate[] }>("ota/history") : undefined,
			]);
			this.catalog = catalog;
			this.findUpdate = updatesOf(catalog);
			this.status = status ?? this.status;
			this.history = history?.updates ?? this.history;
			this.problem = undefined;
		} catch (error) {
			this.problem = messageOf(error);
		}
		this.#onChanged();
	}

	/** Uploads the chosen file, with its signature if there is one. While the gateway is away the file waits. */
	take(files: readonly File[]): void {
		const isSignature = ({ name }: File) => name.endsWith(".sig");
		const [file, signature] = [files.find((each) => !isSignature(each)), files.find(isSignature)];
		const { name: filename } = file ?? signature ?? {};
		if (filename === undefined) return;
		this.#sending?.abort();
		this.#sending = undefined;
		this.#resume = () => {};
		if (!file) this.upload = { name: "refused", filename, reason: "choose the .bin together with its .sig." };
		else if (this.#isLive()) return this.#send(file, signature);
		else {
			this.upload = { name: "waiting", filename };
			this.#resume = () => this.take(files);
		}
		this.#onChanged();
	}

	/** By XMLHttpRequest, since fetch does not report how much was sent. */
	#send(file: File, signature: File | undefined): void {
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
