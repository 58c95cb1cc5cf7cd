/** Hooks that subscribe views to the state of the page. */

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type { Entry } from "../../../api/client/fleet.js";
import { type Action, mayDo } from "../../../api/commands.js";
import { roleNames } from "../model/roles.js";
import { type Route, routeOf } from "./addresses.js";
import type { App, DeviceHistory } from "./app.js";
import type { FirmwareStore } from "./firmware.js";
import { respond } from "./gateway.js";
import type { Topic } from "./painter.js";
import { Resource } from "./resource.js";

export const AppContext = createContext<App | undefined>(undefined);

export function useApp(): App {
	const app = useContext(AppContext);
	if (!app) throw new Error("useApp requires an AppContext.Provider");
	return app;
}

/** Returns the app and renders the view again in the frame after one of the topics was marked. */
export function useTopic(...names: readonly Topic[]): App {
	const app = useApp();
	const { painter } = app;
	const [, render] = useReducer((count: number, _: undefined) => count + 1, 0);
	// useEffect would run after the next frame and miss changes until then.
	useLayoutEffect(() => {
		const ends = names.map((name) => painter.listen(name, () => render(undefined)));
		return () => {
			for (const end of ends) end();
		};
	}, [painter, names.join(" ")]);
	return app;
}

/** Returns undefined for an unknown or forgotten device. */
export function useDevice(key: string): Entry | undefined {
	return useTopic(`device ${key}`).fleet.get(key);
}

/** Like `useDevice`, and subscribes to the device's reports. */
export function useFollowedDevice(key: string): Entry | undefined {
	const app = useApp();
	useEffect(() => app.follow(key), [app, key]);
	return useDevice(key);
}

/** Gateway's records of a device; undefined until loaded. */
export function useHistory(key: string): DeviceHistory | undefined {
	return useTopic(`record ${key}`).history(key).value;
}

/** Whether the page is connected to the gateway. */
export function useIsLive(): boolean {
	return useTopic("link").linkState.name === "live";
}

/** Time within which a stopped gateway is assumed to be restarting. */
const gatewayRestartMs = 60_000;

/** Describes a gateway that does not respond; undefined while connected. */
export function useGatewayAbsence(): "is restarting" | "is unreachable" | undefined {
	const { linkState: state } = useTopic("link");
	const now = useNow(1000);
	if (state.name === "live") return undefined;
	return state.name === "lost" && state.isExpected && now - state.since < gatewayRestartMs
		? "is restarting"
		: "is unreachable";
}

/** Whether the person may perform an action now. @param action default: any action reserved for monitors */
export function useMayChange(action?: Action): boolean {
	const denial = useDenial(action);
	return useIsLive() && denial === undefined;
}

/** Tooltip of a control that the person's role does not permit; undefined for a permitted one. */
export function useDenial(action?: Action): string | undefined {
	const { person } = useApp();
	if (!person || mayDo(person, action ?? "trigger_ota")) return undefined;
	return `Not allowed for the role ${roleNames[person.role]}`;
}

/**
 * Loads data for one view, again after each reconnect.
 * @param everyMs also reloads it at this interval while the page is visible
 * @param causes reload it when one of them changes
 */
export function useResource<T>(
	read: () => Promise<T>,
	everyMs?: number,
	...causes: readonly unknown[]
): Resource<T> {
	const isLive = useIsLive();
	const latest = useRef(read);
	latest.current = read;
	const [, render] = useReducer((count: number, _: undefined) => count + 1, 0);
	const [resource] = useState(
		() =>
			new Resource(
				() => latest.current(),
				() => render(undefined),
			),
	);
	useEffect(() => {
		if (!isLive) return;
		void resource.refresh();
		const timer = everyMs && setInterval(() => document.hidden || resource.refresh(), everyMs);
		return () => clearInterval(timer);
	}, [resource, isLive, ...causes]);
	return resource;
}

/** @param name undefined sends no request @returns whether the gateway has this route; undefined until known */
export function useHasRoute(name: "GET /api/audit" | "GET /api/backup" | undefined): boolean | undefined {
	const find = async () =>
		name !== undefined &&
		(await respond(name, { isHead: true }).then(
			() => true,
			() => false,
		));
	return useResource(find).value;
}

/** Loads the gateway's firmware for this view and again after each change. */
export function useFirmware(): FirmwareStore {
	const { firmware } = useTopic("firmware");
	useEffect(() => void firmware.refresh(), [firmware]);
	return firmware;
}

/** Time of the gateway's clock, updated every `intervalMs`. @param intervalMs 0 or undefined: not updated */
export function useNow(intervalMs: number | undefined): number {
	const { clock } = useApp();
	const [ticks, tick] = useReducer((count: number, _: undefined) => count + 1, 0);
	useEffect(() => {
		if (!intervalMs) return;
		const timer = setInterval(() => tick(undefined), intervalMs);
		return () => clearInterval(timer);
	}, [intervalMs]);
	return useMemo(() => clock.now(), [clock, clock.aheadMs, ticks]);
}

/** Sets the title of the browser's tab. @param title undefined if another component sets it */
export function useTitle(title: string | undefined): void {
	useEffect(() => {
		if (title !== undefined) document.title = `${title} · Device gateway`;
	}, [title]);
}

/** Asks for confirmation before the page is left. */
export function useLeaveWarning(isOn: boolean): void {
	// useEffect would run after the next frame; the page could be left before.
	useLayoutEffect(() => {
		if (!isOn) return;
		const onLeave = (event: Event) => event.preventDefault();
		addEventListener("beforeunload", onLeave);
		return () => removeEventListener("beforeunload", onLeave);
	}, [isOn]);
}

/** Route of the fragment, which works below any path and without a request. */
export function useRoute(): Route {
	const [hash, setHash] = useState(location.hash);
	useEffect(() => {
		const onChange = () => setHash(location.hash);
		addEventListener("hashchange", onChange);
		return () => removeEventListener("hashchange", onChange);
	}, []);
	return useMemo(() => routeOf(hash), [hash]);
}
