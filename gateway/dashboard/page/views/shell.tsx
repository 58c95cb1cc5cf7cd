/** The frame around every view: navigation, the state of the connection, and logout. */

import { useEffect, useRef } from "preact/hooks";
import { age, duration } from "../../../api/client/words.js";
import { type App, listAddress, topics } from "../app/app.js";
import { type Route, useApp, useNow, useRoute, useTopic } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { AddDeviceView } from "./add-device.js";
import { AnnounceView } from "./announce.js";
import { AttentionLink, AttentionView } from "./attention.js";
import { DeviceView } from "./device.js";
import { FirmwareView } from "./firmware.js";
import { FleetView } from "./fleet.js";
import { SelectionBar } from "./fleet-actions.js";
import { JobBars } from "./jobs.js";
import { SettingsView } from "./settings.js";
import { WiFiView } from "./wifi.js";

export function Shell() {
	const app = useApp();
	const route = useRoute();
	const isList = route.view === "fleet" || route.view === "room";
	const isOfFleet = isList || route.view === "device" || route.view === "settings" || route.view === "wifi";
	const main = useRef<HTMLElement>(null);
	const where = whereOf(route);
	const previous = useRef(where);
	useEffect(() => {
		if (route.view !== "device") {
			const title = route.view === "room" ? route.room || "No room" : titles[route.view];
			document.title = `${title} · Device gateway`;
		}
		if (previous.current === where) return;
		previous.current = where;
		// A list returns to its place itself.
		if (isList && app.places.has(listAddress())) {
			if (!main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
			return;
		}
		scrollTo(0, 0);
		main.current?.focus();
	}, [where]);
	return (
		<>
			<Button look="skip" onClick={() => main.current?.focus()}>
				Skip to the content
			</Button>
			<header class="top">
				<a class="name" href="#/">
					<img src="icon.svg" alt="" width="26" height="26" />
					<span>Device gateway</span>
				</a>
				<nav aria-label="Views">
					<a href="#/" aria-current={isOfFleet ? "page" : undefined}>
						Fleet
					</a>
					<AttentionLink isCurrent={route.view === "attention"} />
					<a href="#/firmware" aria-current={route.view === "firmware" ? "page" : undefined}>
						Firmware
					</a>
					<a href="#/add" aria-current={route.view === "add" ? "page" : undefined}>
						Add device
					</a>
				</nav>
				<LinkState />
				<form method="post" action="logout">
					<button type="submit" class="quiet small">
						Log out
					</button>
				</form>
			</header>
			<Outage />
			<Viewing />
			<main id="main" ref={main} tabIndex={-1}>
				<View route={route} />
			</main>
			<aside class="dock" aria-label="Actions">
				<JobBars />
				{isList && <SelectionBar />}
			</aside>
		</>
	);
}

function View({ route }: { route: Route }) {
	switch (route.view) {
		case "fleet":
			return <FleetView key="" search={route.search} />;
		case "room":
			return <FleetView key={route.room || " "} search={route.search} room={route.room} />;
		case "attention":
			return <AttentionView />;
		case "device":
			return <DeviceView key={route.key} deviceKey={route.key} tab={route.tab} />;
		case "firmware":
			return <FirmwareView devices={route.devices} />;
		case "announce":
			return <AnnounceView key={route.search} search={route.search} />;
		case "settings":
			return <SettingsView />;
		case "wifi":
			return <WiFiView />;
		case "add":
			return <AddDeviceView withVirtual={route.withVirtual} />;
	}
}

/** The device's view sets its own title. */
const titles = {
	fleet: "Fleet",
	attention: "Attention",
	firmware: "Firmware",
	announce: "Announce",
	settings: "Settings",
	wifi: "Wi-Fi",
	add: "Add device",
};

function whereOf(route: Route): string {
	if (route.view === "device") return route.key;
	return route.view === "room" ? `room ${route.room}` : route.view;
}

function LinkState() {
	useTopic(topics.link);
	const { linkState, cluster } = useApp();
	const { name } = linkState;
	const count = cluster && cluster.gateways > 1 ? ` · ${cluster.gateways} gateways` : "";
	const words = { live: `Live${count}`, connecting: loadingText(linkState), lost: "Reconnecting…" };
	return (
		<p class={`link ${name}`} role="status" title={cluster && `Gateway ${cluster.gateway}`}>
			{words[name]}
		</p>
	);
}

function loadingText(state: App["linkState"]): string {
	if (state.name !== "connecting" || state.total === undefined) return "Connecting…";
	const { loaded = 0, total } = state;
	return `${loaded.toLocaleString("en")} of ${total.toLocaleString("en")} loaded`;
}

/** A banner of full width while nothing is received: a person must know that the page shows an old state. */
function Outage() {
	useTopic(topics.link);
	const app = useApp();
	const now = useNow(1000);
	const state = app.linkState;
	if (app.cluster?.alone)
		return (
			<aside class="outage" aria-label="Gateways">
				<p>
					<strong>The gateway {app.cluster.gateway} alone: others cannot be reached.</strong> Their devices
					are shown as disconnected.
				</p>
			</aside>
		);
	if (state.name !== "lost")
		return app.cluster?.releasesDiffer ? (
			<aside class="outage" aria-label="Releases">
				<p>
					<strong>Not all gateways have the same releases.</strong> Give each the same RELEASES_DIR; the log
					names those that differ.
				</p>
			</aside>
		) : null;
	const seconds = Math.max(0, Math.ceil((state.retryAt - now) / 1000));
	return (
		<aside class="outage" aria-label="Connection">
			<p>
				<strong>The gateway cannot be reached.</strong>{" "}
				{app.heardAt === undefined
					? "Nothing has been heard of it yet."
					: `What is shown is from ${age(now - app.heardAt)}.`}{" "}
				{seconds > 0 ? `Trying again in ${duration(seconds)}.` : "Trying again…"}
			</p>
			<Button look="small" onClick={() => app.connect()}>
				Try now
			</Button>
		</aside>
	);
}

/** Why what changes something is switched off: a sentence in one place. */
function Viewing() {
	useTopic(topics.link);
	const { person } = useApp();
	if (person?.role !== "viewer") return null;
	return (
		<aside class="outage" aria-label="Login">
			<p>
				<strong>{person.name} sees everything and changes nothing.</strong> Log in with another token to
				change something.
			</p>
		</aside>
	);
}
