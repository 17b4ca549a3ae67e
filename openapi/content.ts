// What the pages take from src/. build.ts evaluates it to see whether a change of src/ changes a page, so no page imports src/ itself.
export { type ErrorCode, ERRORS } from "../src/errors.ts";
export { MISSING_PAGE, PAGE_LINKS, PLACEHOLDER } from "../src/http/documentation.ts";
export { MAX_LENGTH } from "../src/idempotency/attempt.ts";
export { LOCAL_API_KEY } from "../src/local-api-key.ts";
export { TOOLS_FILE } from "../src/mcp/tools.ts";
export { document } from "./document.ts";
export { tools } from "./tools.ts";
