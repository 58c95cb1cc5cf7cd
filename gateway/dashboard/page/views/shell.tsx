/** Frame of every view: navigation, connection state and logout. */

import alert from "lucide-static/icons/circle-alert.svg";
import plus from "lucide-static/icons/circle-plus.svg";
import clock from "lucide-static/icons/clock.svg";
import ellipsis from "lucide-static/icons/ellipsis.svg";
import home from "lucide-static/icons/house.svg";
import logOut from "lucide-static/icons/log-out.svg";
import megaphone from "lucide-static/icons/megaphone.svg";
import packageIcon from "lucide-static/icons/package.svg";
import gear from "lucide-static/icons/settings.svg";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { age, duration } from "../../../api/client/words.js";
import { type DeviceTab, listAddress, type Route } from "../app/addresses.js";
import type { App } from "../app/app.js";
import { useApp, useGatewayAbsence, useIsLive, useNow, useRoute, useTitle, useTopic } from "../app/hooks.js";
import { Button } from "../parts/button.js";
import { Icon } from "../parts/icon.js";
import { Menu } from "../parts/menu.js";
import { Notice } from "../parts/notice.js";
import { Permitted } from "../parts/permitted.js";
import { FleetView } from "./fleet.js";
import { onDemand } from "./on-demand.js";
import { SearchButton, useShortcuts } from "./search-button.js";

export function Shell() {
	const app = useApp();
	const route = useRoute();
	const { view, key } = route;
	const isList = view === "fleet" || view === "rooms";
	const main = useRef<HTMLElement>(null);
	const { openPalette, dialog } = useShortcuts();
	const { person } = useTopic("link", "quiet");
	const link = (name: keyof typeof later) => (
		<a href={`#/${name}`} aria-current={name === view ? "page" : undefined}>
			<Icon of={icons[name]} />
			{later[name].title}
			{name === "issues" && <IssueCount />}
		</a>
	);
	const management = (
		<>
			{/* The role user cannot use it. */}
			{person?.role !== "user" && link("firmware")}
			<Permitted isSilent>{link("add")}</Permitted>
			{link("settings")}
		</>
	);
	const logout = (
		<form method="post" action="logout">
			<button type="submit" class="quiet">
				<Icon of={logOut} />
				Log out
			</button>
		</form>
	);
	usePreload();
	useTitle(titleOf(route));
	const where = view === "settings" ? view : `${view} ${key}`;
	const previous = useRef(where);
	// Prevents a frame that shows the view at the previous scroll position.
	useLayoutEffect(() => {
		if (previous.current === where) return;
		previous.current = where;
		// Lists restore their scroll position themselves.
		if (!isList || !app.places.has(listAddress())) scrollTo(0, 0);
		else if (main.current?.contains(document.activeElement)) return;
		main.current?.focus({ preventScroll: true });
	}, [where]);
	return (
		<>
			<Button look="skip" onClick={() => main.current?.focus()}>
				Skip to content
			</Button>
			<header class="top">
				<a class="name" href="#/">
					<img src="icon.svg" alt="" width="26" height="26" />
					<span>Device gateway</span>
				</a>
				<SearchButton onClick={openPalette} />
				<nav aria-label="Views">
					<a href="#/" aria-current={isList || view === "devices" ? "page" : undefined}>
						<Icon of={home} />
						Home
					</a>
					{link("announce")}
					{/* Absent only once the gateway is known to have no schedules, so that nothing moves. */}
					{app.quietHours.value !== null && link("schedules")}
					{link("issues")}
					<div class="wide management">
						<h2>Manage</h2>
						{management}
					</div>
					<div class="narrow">
						<Menu label="More" icon={ellipsis}>
							{() => (
								<>
									{management}
									{logout}
								</>
							)}
						</Menu>
					</div>
				</nav>
				<LinkState />
				<div class="wide">{logout}</div>
			</header>
			<Banners />
			<main id="main" ref={main} tabIndex={-1}>
				<View route={route} />
			</main>
			<aside class="dock" aria-label="Actions">
				<JobBars />
				{isList && <Selected />}
			</aside>
			{dialog}
		</>
	);
}

const icons = {
	announce: megaphone,
	schedules: clock,
	issues: alert,
	firmware: packageIcon,
	add: plus,
	settings: gear,
};

function View({ route: { view, key, tab, search } }: { route: Route }) {
	if (view === "fleet") return <FleetView key="" search={search} />;
	if (view === "rooms") return <FleetView key={key || " "} search={search} room={key} />;
	if (view === "devices") return <Device key={key} deviceKey={key} tab={tab} />;
	const { [view]: Later } = later;
	return <Later key={view === "announce" ? search : view} search={search} part={key} />;
}

/** Title of a view; undefined for those that set it, since it is the name of what they show. */
function titleOf({ view, key }: Route): string | undefined {
	if (view === "devices" || (view === "firmware" && key !== "")) return undefined;
	if (view === "rooms") return key || "No room";
	return view === "fleet" ? "Home" : later[view].title;
}

const load = () => import("./later.js");
const DevicePage = onDemand("Device", async () => (await load()).DeviceView);
const SelectionBar = onDemand("", async () => (await load()).SelectionBar);
const IssueCount = onDemand(undefined, async () => (await load()).IssueCount);
const JobBars = onDemand(undefined, async () => (await load()).JobBars);

interface LaterProps {
	/** Query of the address. */
	readonly search: string;
	/** Part of the settings. */
	readonly part: string;
}

/** Lazily loaded views by route. */
const later = {
	issues: onDemand<LaterProps>("Issues", async () => (await load()).IssuesView),
	firmware: onDemand<LaterProps>("Firmware", async () => (await load()).FirmwareView),
	announce: onDemand<LaterProps>("Announce", async () => (await load()).AnnounceView),
	schedules: onDemand<LaterProps>("Schedules", async () => (await load()).SchedulesView),
	settings: onDemand<LaterProps>("Settings", async () => (await load()).SettingsView),
	/** Separate script, since the code for boards is larger than the rest of the page. */
	add: onDemand<LaterProps>(
		"Add device",
		async () => (await import("../install/install-view.js")).InstallView,
	),
};

function Selected() {
	const { selection } = useTopic("selection");
	return selection.keys.size > 0 && <SelectionBar />;
}

function Device({ deviceKey, tab }: { deviceKey: string; tab: DeviceTab }) {
	const app = useApp();
	useEffect(() => app.follow(deviceKey), [app, deviceKey]);
	// Records messages while the script of the page is being loaded.
	app.recorder.watch(deviceKey);
	return <DevicePage deviceKey={deviceKey} tab={tab} />;
}

/** Preloads the other views after the devices, so that they open instantly and without the gateway. */
function usePreload(): void {
	const isLive = useIsLive();
	useEffect(() => {
		if (!isLive) return;
		const { add: _, ...others } = later;
		// A view that failed to load is retried when opened.
		for (const { preload } of [DevicePage, SelectionBar, ...Object.values(others)]) preload().catch(() => {});
	}, [isLive]);
}

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

/** Notices above the view: outdated data and missing gateways. */
function Banners() {
	const app = useTopic("link");
	const now = useNow(1000);
	const { linkState: state, cluster, heardAt } = app;
	const absence = useGatewayAbsence();
	const seconds = state.name === "lost" ? Math.max(0, Math.ceil((state.retryAt - now) / 1000)) : 0;
	return (
		<>
			{cluster?.alone && (
				<Notice tone="warn" label="Gateways">
					<strong>Other gateways unreachable from {cluster.gateway}.</strong> Their devices are shown as
					disconnected.
				</Notice>
			)}
			{state.name === "lost" && (
				<Notice
					tone="warn"
					label="Connection"
					actions={
						<Button look="small" onClick={() => app.connect()}>
							Retry now
						</Button>
					}
				>
					<strong>Gateway {absence}.</strong>{" "}
					{heardAt === undefined ? "No data received yet." : `Data from ${age(now - heardAt)}.`}{" "}
					{seconds > 0 ? `Retrying in ${duration(seconds)}.` : "Retrying…"}
				</Notice>
			)}
			{cluster?.releasesDiffer && !cluster.alone && (
				<Notice tone="warn" label="Releases">
					<strong>Releases differ between gateways.</strong> Use the same RELEASES_DIR for all; the log lists
					the differences.
				</Notice>
			)}
		</>
	);
}
