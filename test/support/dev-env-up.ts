/** A process that builds or removes the machines of an environment, to be killed on the way. */
import { DevEnv } from "./dev-env.ts";

const [operation, endpoint = "", token = "", directory = "", settings = "{}"] = process.argv.slice(2);
// Only the address of the cloud and the token: the cloud itself runs in the test.
const env = new DevEnv({ url: endpoint, token } as DevEnv["cloud"], directory);
await (operation === "down" ? env.down() : env.up(JSON.parse(settings)));
