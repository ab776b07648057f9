/** Headers of the PROXY protocol, version 2. */
import { connect, type Socket, type TcpSocketConnectOpts } from "node:net";
import { parseIp } from "../state/cidr.ts";

const SIGNATURE = Buffer.from([0x0d, 0x0a, 0x0d, 0x0a, 0x00, 0x0d, 0x0a, 0x51, 0x55, 0x49, 0x54, 0x0a]);
const VERSION_2_PROXY = 0x21;
const VERSION_2_LOCAL = 0x20;
const TCP_OVER_IPV4 = 0x11;

/** The two ends of a client's connection, over IPv4. */
export interface Connection {
  readonly sourceIp: string;
  readonly sourcePort: number;
  readonly destinationIp: string;
  readonly destinationPort: number;
}

/** The header for a forwarded connection, without extensions. */
export function proxyHeader(connection: Connection): Buffer {
  const addresses = Buffer.alloc(12);
  addresses.writeUInt32BE(parseIp(connection.sourceIp) ?? 0, 0);
  addresses.writeUInt32BE(parseIp(connection.destinationIp) ?? 0, 4);
  addresses.writeUInt16BE(connection.sourcePort, 8);
  addresses.writeUInt16BE(connection.destinationPort, 10);
  return Buffer.concat([SIGNATURE, Buffer.from([VERSION_2_PROXY, TCP_OVER_IPV4, 0, addresses.length]), addresses]);
}

/** The header of health checks, which have no client. */
export const localHeader: Buffer = Buffer.concat([SIGNATURE, Buffer.from([VERSION_2_LOCAL, 0, 0, 0])]);

/** Connects to a backend and sends the header first. */
export function connectWithHeader(backend: TcpSocketConnectOpts, header: Buffer): Socket {
  const socket = connect(backend);
  socket.write(header);
  return socket;
}

/** The two ends of an accepted socket. */
export function connectionOf(socket: Socket): Connection {
  return {
    sourceIp: socket.remoteAddress ?? "",
    sourcePort: socket.remotePort ?? 0,
    destinationIp: socket.localAddress ?? "",
    destinationPort: socket.localPort ?? 0,
  };
}

/** The length of the header at the start of the data, and the client's address if it contains one; undefined without one. */
export function readProxyHeader(received: Buffer): { length: number; sourceIp?: string } | undefined {
  if (!received.subarray(0, SIGNATURE.length).equals(SIGNATURE) || received.length < 16) return undefined;
  const length = 16 + received.readUInt16BE(14);
  const hasAddresses = received[12] === VERSION_2_PROXY && received[13] === TCP_OVER_IPV4 && received.length >= length;
  return { length, ...(hasAddresses && { sourceIp: [...received.subarray(16, 20)].join(".") }) };
}
