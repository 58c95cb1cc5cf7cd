/** Requests of the page to its gateway. */

import { createClient } from "../../../api/client/request.js";

export const { request, requestIfFound, requestFile, respond } = createClient();
