/** Sends inputs to a board in their order, one at a time, so that a release never overtakes its press. */

import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../../../gateway/api/client/request.js";
import type { BoardInput } from "../../../hosts/virtual/node/input.js";
import { demo } from "./requests.js";

/** The firmware takes a level once it was stable for 20 ms. */
const leastMs = 40;

interface Inputs {
	readonly send: (input: BoardInput) => void;
	/** Why the last one was not taken; empty: it was. */
	readonly problem: string;
}

/** @param id of the device @param isOn whether it can be reached */
export function useInputs(id: string, isOn: boolean): Inputs {
	const [problem, setProblem] = useState("");
	useEffect(() => setProblem(""), [isOn]);
	const last = useRef(Promise.resolve());
	const post = async (input: BoardInput) => {
		const sent = demo.request("POST /api/demo/devices/:id/input", { params: { id }, body: input });
		setProblem(await sent.then(() => "", messageOf));
		await new Promise((resolve) => setTimeout(resolve, leastMs));
	};
	const send = (input: BoardInput) => {
		last.current = last.current.then(() => post(input));
	};
	return { send, problem };
}
