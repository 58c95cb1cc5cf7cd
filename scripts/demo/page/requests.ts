/** HTTP client of the demo page. */

import { createClient } from "../../../gateway/api/client/request.js";
import type { DemoRoutes } from "../messages.js";

export const demo = createClient<DemoRoutes>();
