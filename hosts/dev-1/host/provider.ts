/** Global `device` of a DEV-1. The SDK requires this path, for `embedded:provider/builtin`. */

import { createBoard } from "board/board";
import { pins, tuning } from "board/pins";

export default createBoard({ model: "DEV-1", pins, tuning });
