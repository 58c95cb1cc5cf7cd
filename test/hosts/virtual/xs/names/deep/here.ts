import { above } from "../above.js";
import { beside } from "./beside.js";

export default () => `${above}+${beside}`;
