/** An SSH server on loopback that accepts one key and runs a handler of the test for commands. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import ssh2 from "ssh2";
import type { KeyPair } from "../../dev-env/k3s/secrets.ts";

export interface SshAnswer {
  readonly stdout?: string;
  readonly stderr?: string;
  readonly code: number;
}

export interface SshServerOptions {
  readonly hostKey: KeyPair;
  /** The only accepted key. */
  readonly authorized: Pick<KeyPair, "publicKey">;
  readonly answer: (command: string) => SshAnswer;
  readonly port?: number;
}

export class SshServer implements AsyncDisposable {
  readonly #server: ssh2.Server;
  readonly #connections = new Set<ssh2.Connection>();
  /** Received commands. */
  readonly commands: string[] = [];
  /** Number of login attempts. */
  logins = 0;

  constructor({ hostKey, authorized, answer }: SshServerOptions) {
    const [, key = ""] = authorized.publicKey.split(" ");
    this.#server = new ssh2.Server({ hostKeys: [hostKey.privateKey] }, (connection) => {
      this.#connections.add(connection);
      // Some tests disconnect early.
      connection.on("error", () => {});
      connection.on("authentication", (attempt) => {
        this.logins += 1;
        const isKnown = attempt.method === "publickey" && attempt.key.data.equals(Buffer.from(key, "base64"));
        if (isKnown) attempt.accept();
        else attempt.reject(["publickey"]);
      });
      connection.on("session", (accept) => {
        accept().on("exec", (acceptExec, _reject, { command }) => {
          this.commands.push(command);
          const { stdout = "", stderr = "", code } = answer(command);
          const channel = acceptExec();
          channel.write(stdout);
          channel.stderr.write(stderr);
          channel.exit(code);
          channel.end();
        });
      });
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  static async start(options: SshServerOptions): Promise<SshServer> {
    const server = new SshServer(options);
    server.#server.listen(options.port ?? 0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const connection of this.#connections) connection.end();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
