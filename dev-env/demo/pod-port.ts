/** One port of one machine on which a pod answers, over http, with or without PROXY protocol in front. */
import { createServer as createWebServer, type Server as WebServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { readProxyHeader } from "../cloud/data-plane/proxy-protocol.ts";

/** What is said to every request at that moment. */
export type Answer = () => { readonly status: number; readonly text: string };

export class Door {
  readonly #web: WebServer;
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  readonly #clients = new WeakMap<Socket, string>();

  /** A port that somebody else has is theirs: the health check will say so. */
  constructor(address: string, port: number, answer: Answer) {
    this.#web = createWebServer((request, response) => {
      const { status, text } = answer();
      const client = this.#clients.get(request.socket);
      const whole = `${text}${client ? ` for ${client}` : ""}\n`;
      request.resume().once("end", () => response.writeHead(status).end(whole));
    });
    this.#server = createServer((socket) => this.#receive(socket));
    this.#server.on("error", () => {}).listen(port, address);
  }

  /** Nobody gets in any more; whoever is in is thrown out. */
  close(): void {
    for (const socket of this.#open) socket.destroy();
    this.#server.close();
  }

  /** Pods that speak PROXY protocol expect it always; these take what comes, and say whose address they were told. */
  #receive(socket: Socket): void {
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket)).on("error", () => {});
    socket.once("data", (received: Buffer) => {
      socket.pause();
      const header = readProxyHeader(received);
      if (header?.sourceIp) this.#clients.set(socket, header.sourceIp);
      const rest = received.subarray(header?.length ?? 0);
      if (rest.length > 0) socket.unshift(rest);
      this.#web.emit("connection", socket);
      socket.resume();
    });
  }
}
