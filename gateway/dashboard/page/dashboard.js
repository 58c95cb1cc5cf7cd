/**
 * The page: one card a device, kept up to date over /monitor. A device goes by its deviceId, or, while it has none, by
 * its session; a device that comes back has a new session but keeps its card.
 */

const list = document.querySelector("#devices");
const empty = document.querySelector("#empty");
const link = document.querySelector("#link");
const template = document.querySelector("#card");

/** @type {Map<string, { session: object, card: Element, seenAt: number }>} */
const devices = new Map();
const retryMs = { first: 1000, last: 15_000 };
let nextRetryMs = retryMs.first;

start();
setInterval(() => devices.forEach(showPresence), 1000);

function connect() {
	const address = new URL("monitor", location.href);
	address.protocol = address.protocol.replace("http", "ws");
	const socket = new WebSocket(address);
	socket.addEventListener("message", ({ data }) => receive(JSON.parse(data)));
	socket.addEventListener("open", () => {
		nextRetryMs = retryMs.first;
		showLink("live", "Live");
	});
	socket.addEventListener("close", () => {
		showLink("lost", "Connection lost. Reconnecting…");
		setTimeout(start, nextRetryMs * (0.5 + Math.random() / 2));
		nextRetryMs = Math.min(nextRetryMs * 2, retryMs.last);
	});
}

/** A browser does not say why a WebSocket was refused, so whether we are logged in is asked first. */
async function start() {
	try {
		const { status } = await fetch("login/state");
		if (status === 401) return location.assign("login");
	} catch {
		// The gateway is away; the socket will say so too, and try again.
	}
	connect();
}

function receive(message) {
	if (message.type === "status_update") {
		if (message.reason === "snapshot") clear();
		for (const session of message.sessions) update(session, Date.parse(message.timestamp), message.reason);
	} else if (message.type === "device_message" && message.message.type === "state_report") {
		const entry = devices.get(message.deviceId) ?? devices.get(message.sessionId);
		if (entry) showReport(entry, message.message);
	}
	empty.hidden = devices.size > 0;
}

function showReport(entry, state) {
	entry.session.state = state;
	entry.seenAt = Date.now();
	show(entry);
}

/** @param now the gateway's clock, which may differ from ours: ages are told by the gateway's alone */
function update(session, now, reason) {
	const key = session.deviceId ?? session.sessionId;
	if (session.deviceId) remove(session.sessionId);
	const known = devices.get(key);
	if (reason === "replaced" && known?.session.sessionId !== session.sessionId) return;
	if (!session.deviceId && !session.connected) return remove(key);
	const card = known?.card ?? list.appendChild(template.content.cloneNode(true).firstElementChild);
	const entry = { session, card, seenAt: Date.now() - (now - Date.parse(session.lastSeenAt)) };
	devices.set(key, entry);
	show(entry);
}

function remove(key) {
	devices.get(key)?.card.remove();
	devices.delete(key);
}

function clear() {
	for (const key of [...devices.keys()]) remove(key);
}

function show(entry) {
	const { session, card } = entry;
	card.classList.toggle("away", !session.connected);
	card.querySelector("h2").textContent = session.deviceId ?? "Not named yet";
	card.querySelector(".facts").textContent = [
		session.model ?? "model not known yet",
		session.firmwareVersion && `firmware ${session.firmwareVersion}`,
		session.remoteAddress,
	]
		.filter(Boolean)
		.join(" · ");
	const rows = [...stateRows(session.state), ...updateRows(session.metadata)];
	card
		.querySelector("dl")
		.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
	showPresence(entry);
}

function showPresence({ session, card, seenAt }) {
	const seconds = Math.round((Date.now() - seenAt) / 1000);
	const text = session.connected ? `Connected, heard ${age(seconds)}` : `Away, last heard ${age(seconds)}`;
	card.querySelector(".presence").textContent = text;
}

function stateRows(state) {
	if (!state) return [["State", "no report yet"]];
	const { audio, led_ring, buttons, haptic_intensity, ambient_light, touch_active } = state.peripherals;
	const pressed = Object.keys(buttons).filter((name) => buttons[name] === true);
	const rows = [
		["Volume", `${audio.volume} %`],
		[
			"Player",
			audio.current_track === "none" ? audio.player_state : `${audio.player_state}, ${audio.current_track}`,
		],
		[
			"LED ring",
			`${led_ring.state_name} (${led_ring.state_id}), ${Math.round(led_ring.brightness_coef * 100)} %`,
		],
		[
			"Buttons",
			pressed.map((name) => name.replace("btn_", "").replace("_", " ")).join(", ") || "none pressed",
		],
	];
	if (haptic_intensity !== undefined) rows.push(["Haptics", `${haptic_intensity} %`]);
	if (ambient_light !== undefined) rows.push(["Light", String(ambient_light)]);
	if (touch_active !== undefined) rows.push(["Touch", touch_active ? "touched" : "not touched"]);
	rows.push(["Wi-Fi", `${state.network.wifi_ssid}, ${state.network.wifi_rssi} dBm`]);
	rows.push(["Up", duration(state.health.uptime_seconds)]);
	return rows;
}

function updateRows({ otaStatus, otaPercent, otaVersion, otaReason }) {
	if (otaStatus === "idle") return [];
	const percent = otaPercent === null ? "" : ` ${otaPercent} %`;
	return [
		["Update", [otaVersion, otaStatus.replace("_", " ") + percent, otaReason].filter(Boolean).join(", ")],
	];
}

function age(seconds) {
	return seconds < 2 ? "just now" : `${duration(seconds)} ago`;
}

function duration(seconds) {
	if (seconds < 60) return `${seconds} s`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
	if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
	return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

function element(name, text) {
	const node = document.createElement(name);
	node.textContent = text;
	return node;
}

function showLink(state, text) {
	link.dataset.state = state;
	link.textContent = text;
}
