/** Log of the panel: received commands, sent messages and trace output, without secrets. */
export interface LogLine {
	readonly kind: "command" | "message" | "update" | "problem" | "trace";
	readonly text: string;
	/** Whether the line replaces the previous one. */
	readonly isReplacing: boolean;
}

/** Fields of a state report that differ in each one. */
const hiddenFields: readonly string[] = Object.freeze([
	"timestamp",
	"health.uptime_seconds",
	"health.free_heap_bytes",
	"health.min_free_heap_bytes",
]);
const longestText = 300;

/** Sound that plays or is paused. */
export interface PlayedSound {
	/** Display name. */
	readonly name: string;
	readonly isHeld: boolean;
}

export interface LogOptions {
	readonly onLine: (line: LogLine) => void;
	/** Called for each state report. @param sound null if nothing plays */
	readonly onSound: (sound: PlayedSound | null) => void;
}

export class Log {
	readonly #options: LogOptions;
	#report: ReadonlyMap<string, string> | undefined;
	/** Number of consecutive unchanged reports. */
	#unchanged = 0;
	/** Topic of the last line, which only a line of the same topic replaces. */
	#topic: string | undefined;
	#unfinished = "";

	constructor(options: LogOptions) {
		this.#options = options;
	}

	/** @param text command from the gateway in JSON */
	received(text: string): void {
		this.#add("command", `< ${parse(text, describeCommand)}`);
	}

	/** @param text message to the gateway in JSON */
	sent(text: string): void {
		const type = parse(text, (fields) => String(fields.get("type")));
		const describeSent = (describe: (fields: Fields) => string) => `> ${parse(text, describe)}`;
		switch (type) {
			case "state_report":
				return this.#addReport(text);
			case "ota_progress":
				return this.#add("update", describeSent(describeProgress), type);
			case "ota_complete":
				return this.#add("update", "> update complete");
			case "ota_error":
				return this.#add(
					"problem",
					describeSent((fields) => `update failed: ${fields.get("reason")}`),
				);
			case "command_error":
				return this.#add(
					"problem",
					describeSent((fields) => `${fields.get("command")} rejected: ${fields.get("message")}`),
				);
			case "settings_result":
				return this.#add(
					"message",
					describeSent((fields) => `settings ${fields.get("outcome")}. ${fields.get("reason") ?? ""}`),
				);
			default:
				return this.#add("message", `> ${type}`);
		}
	}

	/** Adds trace output; a line is shown once it is complete. */
	traced(text: string): void {
		const lines = (this.#unfinished + text).split("\n");
		this.#unfinished = lines.pop() ?? "";
		for (const line of lines) {
			if (line === "") continue;
			const isProblem = /^(gateway: |Wi-Fi: |next attempt)/.test(line);
			this.#add(isProblem ? "problem" : "trace", line);
		}
	}

	#addReport(text: string): void {
		const report = flatten(JSON.parse(text));
		const previous = this.#report;
		this.#report = report;
		this.#options.onSound(soundOf(report));
		if (!previous) return this.#add("message", "> state_report, the first");
		const changes = [...report]
			.filter(([path, value]) => !hiddenFields.includes(path) && previous.get(path) !== value)
			.map(([path, value]) => `${path.replace("peripherals.", "")} ${value}`);
		if (changes.length > 0) return this.#add("message", `> state_report: ${changes.join(", ")}`);
		this.#unchanged = this.#topic === "unchanged" ? this.#unchanged + 1 : 1;
		const count = this.#unchanged > 1 ? ` (${this.#unchanged} times)` : "";
		this.#add("message", `> state_report, unchanged${count}`, "unchanged");
	}

	#add(kind: LogLine["kind"], text: string, topic?: string): void {
		const isReplacing = topic !== undefined && topic === this.#topic;
		this.#topic = topic;
		const shown = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
		this.#options.onLine({ kind, text: shown, isReplacing });
	}
}

function soundOf(report: ReadonlyMap<string, string>): PlayedSound | null {
	const state = report.get("peripherals.audio.player_state");
	if (state !== "playing" && state !== "paused") return null;
	// Other sounds only have an opaque id.
	const chime = report.get("peripherals.audio.current_track")?.match(/^file:\/\/\/chimes\/(.+)$/)?.[1];
	return { name: chime ?? "a sound", isHeld: state === "paused" };
}

type Fields = ReadonlyMap<string, unknown>;

function parse(text: string, describe: (fields: Fields) => string): string {
	try {
		return describe(new Map(Object.entries(JSON.parse(text))));
	} catch {
		return `invalid message: ${text}`;
	}
}

function describeCommand(fields: Fields): string {
	const name = fields.get("command");
	const value = fields.get("value");
	switch (name) {
		case "set_settings":
			return `set_settings ${Object.keys(Object(value)).join(", ")}`;
		case "start_ota":
			// The query may contain a password.
			return `start_ota ${String(fields.get("url")).split("?")[0]}`;
		default:
			return value === undefined ? String(name) : `${name} ${JSON.stringify(value)}`;
	}
}

function describeProgress(fields: Fields): string {
	return `update ${fields.get("percent")} %, ${fields.get("bytes_written")} of ${fields.get("bytes_total")} bytes`;
}

/** Returns the values of nested objects by path. */
function flatten(value: object, path = ""): Map<string, string> {
	const found = new Map<string, string>();
	for (const [name, field] of Object.entries(value))
		if (typeof field === "object" && field !== null)
			for (const [inner, text] of flatten(field, `${path}${name}.`)) found.set(inner, text);
		else found.set(path + name, String(field));
	return found;
}
