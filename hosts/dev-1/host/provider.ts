/** The global `device` of a DEV-1. The SDK wants it at this path, as `embedded:provider/builtin`. */

import { createBoard } from "board/board";
import { pins, tuning } from "board/pins";

export default createBoard({ model: "DEV-1", pins, tuning });
