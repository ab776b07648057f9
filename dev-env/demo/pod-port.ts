/** An HTTP server on one node port, as a pod behind kube-proxy would be, with or without the PROXY protocol. */
import { createServer as createWebServer, type Server as WebServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { readProxyHeader } from "../cloud/data-plane/proxy-protocol.ts";

/** The response to a request, computed when the request arrives. */
export type Answer = () => { readonly status: number; readonly text: string };

/** One open port of one machine. */
export class PodPort {
  readonly #web: WebServer;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #clients = new WeakMap<Socket, string>();

  constructor(address: string, port: number, answer: Answer) {
    this.#web = createWebServer((request, response) => {
      const { status, text } = answer();
      const client = this.#clients.get(request.socket);
      const body = `${text}${client ? ` for ${client}` : ""}\n`;
      request.resume().once("end", () => response.writeHead(status).end(body));
    });
    this.#server = createServer((socket) => this.#receive(socket));
    // Errors are ignored: a port that another process holds fails its health check.
    this.#server.on("error", () => {}).listen(port, address);
  }

  /** Stops listening and drops open connections. */
  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  /** Accepts connections with and without the PROXY protocol, and remembers the client's address. */
  #receive(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket)).on("error", () => {});
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
