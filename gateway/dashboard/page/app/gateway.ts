/** HTTP client of the page's gateway. */

import { createClient } from "../../../api/client/request.js";

export const { request, requestIfFound, requestFile, respond } = createClient();
