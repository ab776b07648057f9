/** A program of its own that builds or removes the cloud half of an environment, to be killed on the way. */
import { DevEnv } from "./dev-env.ts";

const [operation, endpoint = "", token = "", directory = ""] = process.argv.slice(2);
// Only where the cloud is and how to ask it: the rest of it lives in the test.
const env = new DevEnv({ url: endpoint, token } as DevEnv["cloud"], directory);
await (operation === "down" ? env.down() : env.up());
