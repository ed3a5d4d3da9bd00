import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Calls } from './calls.ts';
import type { Gate } from './http-gate.ts';

/** See the PostgreSQL documentation, "Message Formats". */
const READY_FOR_QUERY = 'Z'.charCodeAt(0);
const TERMINATE = 'X'.charCodeAt(0);
/** Size of a message's type and length, in bytes. The length counts itself, but not the type. */
const HEADER_BYTES = 5;

/**
 * A call begins with the client's first message and ends when the server is ready for the next statement. Opening a
 * connection does not count as a call, because it changes nothing.
 */
export async function openPostgresGate(calls: Calls, serverPort: number): Promise<Gate> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: serverPort, host: '127.0.0.1', noDelay: true });
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    relay(client, upstream, calls);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Assumes that the client sends a statement only after the response to its previous one, as `pg` does. */
function relay(client: Socket, upstream: Socket, calls: Calls): void {
  let isOpen = false;
  let call: number | undefined;
  let asked: Buffer[] = [];
  let answered: Buffer[] = [];
  let isAdmitted = false;
  const scan = readyScanner();

  const admit = async (number: number): Promise<void> => {
    if (!(await calls.pass(number, 'before'))) return;
    isAdmitted = true;
    for (const chunk of asked.splice(0)) upstream.write(chunk);
  };
  const answer = async (number: number): Promise<void> => {
    if (!(await calls.pass(number, 'after'))) return;
    call = undefined;
    const chunks = answered;
    answered = [];
    for (const chunk of chunks) client.write(chunk);
  };

  client.on('data', (chunk) => {
    if (!isOpen || isAdmitted || chunk[0] === TERMINATE) {
      upstream.write(chunk);
      return;
    }
    asked.push(chunk);
    if (call !== undefined) return;
    call = calls.next();
    void admit(call);
  });
  upstream.on('data', (chunk) => {
    const isReady = scan(chunk);
    if (call === undefined) {
      isOpen ||= isReady;
      client.write(chunk);
      return;
    }
    answered.push(chunk);
    if (!isReady) return;
    isAdmitted = false;
    asked = [];
    void answer(call);
  });
}

function readyScanner(): (chunk: Buffer) => boolean {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    let isReady = false;
    while (rest.length >= HEADER_BYTES) {
      const size = 1 + rest.readUInt32BE(1);
      if (rest.length < size) return false;
      isReady = rest[0] === READY_FOR_QUERY;
      rest = rest.subarray(size);
    }
    return isReady && rest.length === 0;
  };
}
