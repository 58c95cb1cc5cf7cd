/** Why an installation failed, in a sentence, and what a person can do about it. */

export type ProblemCode =
	| "no_port"
	| "port_busy"
	| "no_answer"
	| "wrong_chip"
	| "other_partitions"
	| "no_download"
	| "setting"
	| "write_failed"
	| "lost";

/** @param message what the library, or the gateway, said; the sentence where the code has none */
export class InstallError extends Error {
	override name = "InstallError";
	readonly code: ProblemCode;

	constructor(code: ProblemCode, message = "") {
		super(message);
		this.code = code;
	}
}

export interface Failure {
	readonly code: ProblemCode;
	readonly sentence: string;
	/** Each on its own may help; the likeliest first. */
	readonly ways: readonly string[];
}

const downloadMode =
	"Bring it into download mode by hand: hold its BOOT button, press and release its reset button (EN or RST), then release BOOT.";
const dataCable = "Use a USB cable that carries data: many only charge.";

const texts: Readonly<Record<ProblemCode, Omit<Failure, "code">>> = {
	no_port: {
		sentence: "No port was chosen.",
		ways: [
			"Connect the board by USB, start again, and choose it in the browser's list.",
			`If it is not in the list: ${dataCable.charAt(0).toLowerCase()}${dataCable.slice(1)}`,
			"If it still is not: its USB converter (CP210x, CH340) may need a driver, or its port a permission (on Linux, the group dialout).",
		],
	},
	port_busy: {
		sentence: "The port cannot be opened.",
		ways: [
			"Close what else uses it: a serial monitor, another tab, npm run flash.",
			"On Linux, your user needs permission for it: join the port's group (often dialout) and log in again.",
			"Unplug the board and plug it in again.",
		],
	},
	no_answer: {
		sentence: "The board does not answer.",
		ways: [downloadMode, dataCable, "Check that you chose the board's port and not another one."],
	},
	wrong_chip: {
		sentence: "This board has another chip than the firmware is for; nothing was written.",
		ways: ["Choose the board that you have, or the port of the right board."],
	},
	other_partitions: {
		sentence:
			"This board has other partitions than the firmware, so its settings cannot be kept; nothing was written.",
		ways: ["Install with new settings."],
	},
	no_download: { sentence: "", ways: ["Nothing was written. Try again; the log of the gateway says more."] },
	setting: { sentence: "", ways: ["Nothing was written. Change the setting and install again."] },
	write_failed: {
		sentence: "The board stopped answering while it was written, and does not start as it is.",
		ways: [
			"Install again, which repairs it.",
			"Connect it to the computer itself, not through a hub, with a short cable.",
			downloadMode,
		],
	},
	lost: {
		sentence: "The board was unplugged, and does not start if it was being written.",
		ways: [
			"Plug it in and install again, which repairs it.",
			"If you did not unplug it: the cable or its plug has a loose contact; use another one.",
		],
	},
};

export function describeProblem({ code, message }: InstallError): Failure {
	const { sentence, ways } = texts[code];
	const isOurs = sentence === "" || code === "wrong_chip";
	return { code, sentence: isOurs && message !== "" ? message : sentence, ways };
}
