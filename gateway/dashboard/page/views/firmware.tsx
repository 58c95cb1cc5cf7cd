/** Firmware view: uploads, releases and rollouts. */

import { useState } from "preact/hooks";
import { channelOf } from "../../../api/channels.js";
import { age, bytes } from "../../../api/client/words.js";
import type { UploadStatus } from "../../../api/firmware.js";
import { targetsIn } from "../app/addresses.js";
import { useApp, useFirmware, useNow, useTopic } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { FactList } from "../parts/fact-list.js";
import { FileDrop } from "../parts/file-drop.js";
import { Item } from "../parts/item.js";
import { PageHead } from "../parts/page-head.js";
import { Panel } from "../parts/panel.js";
import { Permitted } from "../parts/permitted.js";
import { Problem, useRequest } from "../parts/problem.js";
import { NewRollout } from "./new-rollout.js";
import { RolloutPage } from "./rollout.js";
import { Rollouts } from "./rollouts.js";

interface FirmwareViewProps {
	/** Query of the address: "?new", "?devices=" followed by ids, or empty. */
	readonly search: string;
	/** Id of a rollout, or empty. */
	readonly part: string;
}

export function FirmwareView({ search, part: id }: FirmwareViewProps) {
	const firmware = useFirmware();
	if (id !== "") return <RolloutPage key={id} id={id} />;
	const targets = targetsIn(search);
	return (
		<div class="firmware">
			<PageHead title="Firmware">
				<Button look="primary" isChange onClick={() => location.assign("#/firmware?new")}>
					New rollout
				</Button>
			</PageHead>
			<Problem>{firmware.problem}</Problem>
			<Rollouts />
			<Releases />
			<UploadPanel />
			<Permitted isSilent>
				{(search === "?new" || targets) && (
					<NewRollout
						key={search}
						targets={targets}
						onClose={(address = "#/firmware") => location.replace(address)}
					/>
				)}
			</Permitted>
		</div>
	);
}

function Releases() {
	const { catalog, value } = useApp().firmware;
	return (
		<Panel title="Releases" look="beside-another">
			{catalog && catalog.releases.length === 0 && (
				<p class="hint">
					No releases yet. Add one to the gateway's <code>releases/</code> folder and its{" "}
					<code>catalog.json</code>.
				</p>
			)}
			<ul class="listed">
				{catalog?.releases.map(({ version, channel = channelOf({ version }), date, notes, images }) => (
					<Item
						key={version}
						title={
							<>
								{version} {channel !== undefined && <span class="tag">{channel}</span>}{" "}
								{version === catalog.latest && <span class="tag">latest</span>}
							</>
						}
						facts={[date, ...images.map(({ model, chip, size }) => `${model} ${chip} ${bytes(size)}`)]}
					>
						{notes && <p class="notes">{notes}</p>}
						{value?.status.signature_required && images.some(({ signature }) => signature === undefined) && (
							<p class="problem">Images without a signature are not offered.</p>
						)}
					</Item>
				))}
			</ul>
		</Panel>
	);
}

/** Uploads a firmware file, and shows the reason of a rejection. */
function UploadPanel() {
	const { firmware } = useTopic("firmware");
	const { status } = firmware.value ?? {};
	const { run, isBusy, problem } = useRequest();
	const [uploaded, setUploaded] = useState("");
	const upload = (files: readonly File[]) => {
		setUploaded("");
		void run(async () => setUploaded(await firmware.upload(files)));
	};
	return (
		<Panel title="Upload" look="beside-another">
			<Permitted>
				<FileDrop accept=".bin,.sig" multiple onFiles={upload}>
					<span>
						Drop a <b>.bin</b> file, or <u>choose one</u>
					</span>
				</FileDrop>
			</Permitted>
			{status && (
				<p class="hint">
					{status.signature_required
						? "Firmware must be signed: select the .bin and its .sig together."
						: "Unsigned firmware is allowed."}
				</p>
			)}
			<p class="good" role="status">
				{isBusy ? "Uploading…" : uploaded && `${uploaded} uploaded.`}
			</p>
			<Problem>{problem}</Problem>
			{status?.filename && <Uploaded status={status} />}
		</Panel>
	);
}

function Uploaded({ status }: { status: UploadStatus }) {
	const now = useNow(10_000);
	const { filename, size, version, model, chip, upload_time, sha256, problem } = status;
	const time = upload_time === null ? "" : `, ${age(now - Date.parse(upload_time))}`;
	return (
		<>
			{problem !== undefined && <p class="problem">Not offered: {problem}</p>}
			<FactList
				facts={[
					["Uploaded", `${filename}${time}`],
					["Firmware", [version, model, chip, bytes(size)].filter((fact) => fact !== null).join(" · ")],
					["SHA-256", sha256 ?? ""],
				]}
			/>
		</>
	);
}
