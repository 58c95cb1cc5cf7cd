/** The frame around every view: navigation, the state of the connection, and logout. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { age, duration } from "../../../api/client/words.js";
import { roleWords } from "../../../api/permissions.js";
import { type App, listAddress } from "../app/app.js";
import {
	type DeviceTab,
	type Route,
	useApp,
	useGatewayAbsence,
	useIsLive,
	useNow,
	useRoute,
	useTopic,
} from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { Menu } from "../parts/menu.js";
import { AttentionLink } from "./attention-link.js";
import { FleetView } from "./fleet.js";
import { SelectionBar } from "./fleet-actions.js";
import { JobBars } from "./jobs.js";
import { onDemand } from "./on-demand.js";

export function Shell() {
	const app = useApp();
	const route = useRoute();
	const isList = route.view === "fleet" || route.view === "room";
	const isOfFleet = isList || route.view === "device";
	const main = useRef<HTMLElement>(null);
	const others = (
		<>
			<DeviceLinks current={route.view} />
			<ViewLink view="settings" current={route.view} />
		</>
	);
	const logout = (
		<form method="post" action="logout">
			<button type="submit" class="quiet small">
				Log out
			</button>
		</form>
	);
	usePreload();
	const where = route.view === "settings" ? route.view : `${route.view} ${route.key}`;
	const previous = useRef(where);
	useEffect(() => {
		if (route.view !== "device") {
			const title = route.view === "room" ? route.key || "No room" : titles[route.view];
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
		main.current?.focus({ preventScroll: true });
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
						Home
					</a>
					<ViewLink view="announce" current={route.view} />
					<AttentionLink isCurrent={route.view === "attention"} />
					<span class="wide">{others}</span>
					<span class="narrow">
						<Menu label="More">
							{() => (
								<>
									{others}
									{logout}
								</>
							)}
						</Menu>
					</span>
				</nav>
				<LinkState />
				<span class="wide">{logout}</span>
			</header>
			<Banners />
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

function ViewLink({
	view,
	current,
}: {
	view: "announce" | "firmware" | "add" | "settings";
	current: Route["view"];
}) {
	return (
		<a href={`#/${view}`} aria-current={view === current ? "page" : undefined}>
			{titles[view]}
		</a>
	);
}

/** What is of no use to those who only play. */
function DeviceLinks({ current }: { current: Route["view"] }) {
	const { person } = useTopic("link");
	if (person?.role === "user") return null;
	return (
		<>
			<ViewLink view="firmware" current={current} />
			<ViewLink view="add" current={current} />
		</>
	);
}

function View({ route: { view, key, tab, search } }: { route: Route }) {
	switch (view) {
		case "fleet":
			return <FleetView key="" search={search} />;
		case "room":
			return <FleetView key={key || " "} search={search} room={key} />;
		case "attention":
			return <Attention />;
		case "device":
			return <Device key={key} deviceKey={key} tab={tab} />;
		case "firmware":
			return <Firmware search={search} />;
		case "announce":
			return <Announcing key={search} search={search} />;
		case "settings":
			return <Settings part={key} />;
		case "add":
			return <Installation search={search} />;
	}
}

const later = () => import("./later.js");
const Attention = onDemand("Attention", async () => (await later()).AttentionView);
const DevicePage = onDemand("Device", async () => (await later()).DeviceView);
const Firmware = onDemand("Firmware", async () => (await later()).FirmwareView);
const Announcing = onDemand("Announce", async () => (await later()).AnnouncingView);
const Settings = onDemand("Settings", async () => (await later()).SettingsView);
/** What communicates with boards is larger than the rest of the page: loaded for those who add one alone. */
const Installation = onDemand(
	"Add device",
	async () => (await import("../install/installation.js")).InstallationView,
);

function Device({ deviceKey, tab }: { deviceKey: string; tab: DeviceTab }) {
	const app = useApp();
	useEffect(() => app.follow(deviceKey), [app, deviceKey]);
	// From now on its messages are kept, also while the script of its page is loaded.
	app.recorder.watch(deviceKey);
	return <DevicePage deviceKey={deviceKey} tab={tab} />;
}

/** Loads the other views after the devices, so that they open at once, also while the gateway is away. */
function usePreload(): void {
	const isLive = useIsLive();
	useEffect(() => {
		if (!isLive) return;
		// What cannot be loaded is tried again when it is opened.
		for (const { preload } of [Attention, DevicePage, Firmware, Announcing, Settings])
			preload().catch(() => {});
	}, [isLive]);
}

/** The device's view sets its own title. */
const titles = {
	fleet: "Home",
	attention: "Attention",
	firmware: "Firmware",
	announce: "Announce",
	settings: "Settings",
	add: "Add device",
};

function LinkState() {
	const { linkState, cluster } = useTopic("link");
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

/** What a person must know of what is shown, in full width: that it is old, or why something is missing or switched off. */
function Banners() {
	const app = useTopic("link");
	const now = useNow(1000);
	const { linkState: state, cluster, person, heardAt } = app;
	const absence = useGatewayAbsence();
	const seconds = state.name === "lost" ? Math.max(0, Math.ceil((state.retryAt - now) / 1000)) : 0;
	return (
		<>
			{cluster?.alone && (
				<Banner label="Gateways" title={`The gateway ${cluster.gateway} alone: others cannot be reached.`}>
					Their devices are shown as disconnected.
				</Banner>
			)}
			{state.name === "lost" && (
				<Banner
					label="Connection"
					title={`The gateway ${absence}.`}
					action={
						<Button look="small" onClick={() => app.connect()}>
							Try now
						</Button>
					}
				>
					{heardAt === undefined
						? "Nothing has been heard of it yet."
						: `What is shown is from ${age(now - heardAt)}.`}{" "}
					{seconds > 0 ? `Trying again in ${duration(seconds)}.` : "Trying again…"}
				</Banner>
			)}
			{cluster?.releasesDiffer && !cluster.alone && (
				<Banner label="Releases" title="Not all gateways have the same releases.">
					Give each the same RELEASES_DIR; the log names those that differ.
				</Banner>
			)}
			{person && person.role !== "monitor" && (
				<Banner label="Login" title={`${person.name} may ${roleWords[person.role]}.`}>
					Log in with another token to do more.
				</Banner>
			)}
		</>
	);
}

interface BannerProps {
	readonly label: string;
	readonly title: string;
	readonly action?: ComponentChildren;
	readonly children: ComponentChildren;
}

function Banner({ label, title, action, children }: BannerProps) {
	return (
		<aside class="outage" aria-label={label}>
			<p>
				<strong>{title}</strong> {children}
			</p>
			{action}
		</aside>
	);
}
