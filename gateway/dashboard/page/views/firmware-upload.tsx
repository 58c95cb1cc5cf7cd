/** Accepts a firmware file, dropped or chosen, and shows the upload's progress or refusal. */

import { age, bytes } from "../../../api/client/words.js";
import type { UploadStatus } from "../../../api/firmware.js";
import type { Upload } from "../app/firmware.js";
import { useNow, useTopic } from "../app/hooks.js";
import { FactList } from "../parts/fact-list.js";
import { FileDrop } from "../parts/file-drop.js";
import { Panel } from "../parts/panel.js";
import { Progress } from "../parts/presence.js";
import { Problem } from "../parts/problem.js";

export function UploadPanel() {
	const { firmware } = useTopic("firmware");
	return (
		<Panel title="Upload">
			<FileDrop accept=".bin,.sig" multiple onFiles={(files) => firmware.take(files)}>
				<span>
					Drop a <b>.bin</b> here, or <u>choose a file</u>
				</span>
			</FileDrop>
			{firmware.status && <p class="hint">{describeSigning(firmware.status)}</p>}
			<Sending upload={firmware.upload} />
			{firmware.status?.filename && <Uploaded status={firmware.status} />}
		</Panel>
	);
}

function describeSigning({ signature_required }: UploadStatus): string {
	return signature_required
		? "Firmware must be signed: choose the .bin and its .sig together."
		: "Firmware need not be signed here: anyone who can log in can put any on every device (RELEASE_KEYS).";
}

function Sending({ upload }: { upload: Upload }) {
	if (upload.name === "none") return null;
	const { filename } = upload;
	if (upload.name === "sending")
		return (
			<div class="sending-file" role="status">
				<span>Sending {filename}</span>
				<Progress percent={upload.percent} label={`Sending ${filename}`} />
			</div>
		);
	if (upload.name === "refused")
		return (
			<Problem>
				{filename} was refused: {upload.reason}
			</Problem>
		);
	const words = {
		waiting: `${filename} is sent once the gateway can be reached.`,
		checking: `Checking ${filename}…`,
		taken: `${filename} is in place.`,
	};
	return (
		<p class={upload.name === "taken" ? "good" : "hint"} role="status">
			{words[upload.name]}
		</p>
	);
}

function Uploaded({ status }: { status: UploadStatus }) {
	const now = useNow(10_000);
	const { filename, size, version, model, chip, upload_time, sha256 } = status;
	const time = upload_time === null ? "" : `, ${age(now - Date.parse(upload_time))}`;
	return (
		<FactList
			facts={[
				["Uploaded", `${filename}${time}`],
				["Is", [version, model, chip, bytes(size)].filter((fact) => fact !== null).join(" · ")],
				["SHA-256", sha256 ?? ""],
			]}
		/>
	);
}
