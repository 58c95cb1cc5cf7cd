import { above } from "../../above.js";
import { beside } from "../beside.js";
import { below } from "./below.js";

export default () => `${above}+${beside}+${below}`;
